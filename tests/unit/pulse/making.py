"""Material of a Pulse for the tests of its parts: a project, what belongs to it, what its newest file says."""

from datetime import UTC, datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.linked_text import Kind, Linked, LinkedRecord, Relation
from parlour.pulse.material.documents import Document, documents
from parlour.pulse.material.gather import Gathered, Subject
from parlour.pulse.material.store import Change, Count, Row

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)
KIND = Definition(
    "project", "Project", {"status": {"type": "choice"}, "forecast": {"type": "date", "label": "forecast completion"}}
)


def uid(number: int) -> UUID:
    """An id."""
    return UUID(int=number)


def subject(text: str = "Harbour Office: on site.\nforecast completion: 2026-09-30", level: int = 0) -> Subject:
    properties: JsonObject = {"status": "on site", "forecast": "2026-09-30"}
    return Subject(uid(1), KIND, "harbour", "Harbour Office", properties, level, text, None)


def count(value: str, total: int, level: int = 0) -> Count:
    return Count("task", "Task", "state", "state", value, total, level, [f"entities/{uid(100 + total)}"])


def change(number: int, text: str = "Crane hire (Task): state: done (was open), by a member") -> Change:
    return Change(uid(200 + number), "Crane hire", f"[2026-03-02 09:30] {text}", 0, NOW, f"entities/{uid(30)}", None)


def row(number: int, text: str, file_place: int = 0, *, is_short: bool = False, page: int = 0) -> Row:
    """A piece of a file, or what it says in short."""
    metadata: JsonObject = {"kind": "file", **({"page": page} if page else {})}
    kind = "file_distillation" if is_short else "file_chunk"
    return Row(
        uid(300 + number), kind, f"Report {file_place or number}.pdf", text, metadata, 0, NOW, 0.5, file_place,
        is_short, number, [f"files/{uid(400 + number)}"],
    )  # fmt: skip


def linked(*names: str) -> Linked:
    records = tuple(
        LinkedRecord(f"task/{name}", "task", "Task", name, (Relation("needs", "outgoing"),)) for name in names
    )
    return Linked("project/harbour", "Harbour Office", (Kind("task", "Task", len(names)),) if names else (), records)


def gathered(**more: object) -> Gathered:
    """A project of which everything is known that may be."""
    known: dict[str, object] = {
        "counts": [count("open", 3), count("done", 2)],
        "changes": [change(1)],
        "linked": linked("T-1"),
        "linked_rows": {"task/T-1": f"entities/{uid(50)}"},
        "rows": [
            row(2, "The crack at C4 is 0.35 mm wide.", 1, page=12),
            row(3, "A report about the slab.", 1, is_short=True),
            row(4, "The wind limit of the crane is 38 km/h.", page=3),
        ],
    }
    return Gathered(subject(), 0, **{**known, **more})  # type: ignore[arg-type]


def numbered(**more: object) -> dict[int, Document]:
    """The documents of that, by number."""
    return {one.number: one for one in documents(gathered(**more))}
