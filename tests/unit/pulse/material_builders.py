"""Material of a Pulse for the tests of its parts: a project, what belongs to it, what its newest file says."""

from datetime import UTC, datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.pulse.material.numbered_sources import NumberedSource, number_sources
from parlour.pulse.material.source_material import PulseSubject, SourceMaterial
from parlour.pulse.material.store import ChangeRow, NearbyRow, ValueCount
from parlour.records.linked_records_text import DirectedRelation, LinkedRecord, LinkedRecords, LinkedType
from parlour.records.record_type import RecordType
from parlour.search.results import RowKind

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
KIND = RecordType(
    "project", "Project", {"status": {"type": "choice"}, "forecast": {"type": "date", "label": "forecast completion"}}
)


def make_uuid(number: int) -> UUID:
    """An id."""
    return UUID(int=number)


def make_subject(
    text: str = "Harbour Office: on site.\nforecast completion: 2026-09-30", level: int = 0
) -> PulseSubject:
    properties: JsonObject = {"status": "on site", "forecast": "2026-09-30"}
    return PulseSubject(make_uuid(1), KIND, "harbour", "Harbour Office", properties, level, text, None)


def make_count(value: str, total: int, level: int = 0) -> ValueCount:
    return ValueCount("task", "Task", "state", "state", value, total, level, [f"entities/{make_uuid(100 + total)}"])


def make_change(number: int, text: str = "Crane hire (Task): state: done (was open), by a member") -> ChangeRow:
    return ChangeRow(
        make_uuid(200 + number), "Crane hire", f"[2026-03-02 09:30] {text}", 0, NOW, f"entities/{make_uuid(30)}", None
    )


def make_row(number: int, text: str, file_place: int = 0, *, is_short: bool = False, page: int = 0) -> NearbyRow:
    """A piece of a file, or what it says in short."""
    metadata: JsonObject = {"kind": "file", **({"page": page} if page else {})}
    kind: RowKind = "file_summary" if is_short else "file_chunk"
    return NearbyRow(
        make_uuid(300 + number),
        kind,
        f"Report {file_place or number}.pdf",
        text,
        metadata,
        0,
        NOW,
        0.5,
        file_place,
        is_short,
        number,
        [f"files/{make_uuid(400 + number)}"],
    )


def make_linked_records(*names: str) -> LinkedRecords:
    records = tuple(
        LinkedRecord(f"task/{name}", "task", "Task", name, (DirectedRelation("needs", "outgoing"),)) for name in names
    )
    return LinkedRecords(
        "project/harbour", "Harbour Office", (LinkedType("task", "Task", len(names)),) if names else (), records
    )


def make_material(**more: object) -> SourceMaterial:
    """A project of which everything is known that may be."""
    known: dict[str, object] = {
        "counts": [make_count("open", 3), make_count("done", 2)],
        "changes": [make_change(1)],
        "linked_records": make_linked_records("T-1"),
        "linked_ids_by_handle": {"task/T-1": f"entities/{make_uuid(50)}"},
        "rows": [
            make_row(2, "The crack at C4 is 0.35 mm wide.", 1, page=12),
            make_row(3, "A report about the slab.", 1, is_short=True),
            make_row(4, "The wind limit of the crane is 38 km/h.", page=3),
        ],
    }
    return SourceMaterial(make_subject(), 0, **{**known, **more})  # type: ignore[arg-type]


def make_numbered_sources(**more: object) -> dict[int, NumberedSource]:
    """The documents of that, by number."""
    return {one.number: one for one in number_sources(make_material(**more))}
