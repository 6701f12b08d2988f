"""Everything that a record's Pulse may be written from, read for one classification level at a time.

What stands above a level is never read for it: neither its rows, nor how many they are, nor what they are called.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.pulse.material import store
from parlour.pulse.material.store import ChangeRow, NearbyRow, ValueCount
from parlour.records import linked_records
from parlour.records.built_in_types import CLOSED_CONVERSATION_STATES, CONVERSATION_TYPE
from parlour.records.linked_records_text import SCRATCH_NAMES, LinkedRecords, LinkedType
from parlour.records.record_type import RecordType
from parlour.records.snapshots import snapshot_row
from parlour.records.write_counts import PACK_ORIGIN
from parlour.search import fusion

MAX_NEAREST_ROWS, MAX_LINKED_ROWS = 16, 8
"""Rows around the record, and of them the texts of linked records that come first; the budget limits them further."""

MIN_NEIGHBOUR_SCORE, MIN_FOCUS_SHARE = 0.35, 0.2
"""What a row needs that is neither the record's nor of something linked to it: cosine similarity to the record, or a
share of the rare words of the type's `pulse_prompt`."""

MAX_UNEMBEDDED_ROWS = 4
"""Rows that have no vector yet: what was written just now is told of before anybody knows how near it is."""

MAX_CHANGES = 20
"""The newest changes."""

MAX_NEWEST_FILES, MAX_ROWS_PER_FILE = 3, 2
"""The newest files, each with what it says in short and with its nearest pieces: what came in last is told of, however
far from the record's own words it is."""

_MAX_COUNTED_IDS = 500
"""Records of one count that a Pulse remembers having counted; a mark on the record tells of the others."""

_CLOSED_CONVERSATIONS: dict[str, object] = {"talk": CONVERSATION_TYPE, "over": list(CLOSED_CONVERSATION_STATES)}
_SCRATCH_DOCUMENTS: dict[str, object] = {"scratch": list(SCRATCH_NAMES)}


@dataclass(frozen=True, slots=True)
class PulseSubject:
    """The record that a Pulse is about.

    text           its text for search.
    model_routing  which models are asked; None for a tenant without agents.
    """

    id: UUID
    record_type: RecordType
    key: str
    name: str
    properties: JsonObject
    classification: int
    text: str
    model_routing: JsonObject | None

    @property
    def handle(self) -> str:
        """`type/key`."""
        return f"{self.record_type.key}/{self.key}"


@dataclass(frozen=True, slots=True)
class SourceMaterial:
    """What may be told of a record to a reader of one level.

    linked_ids_by_handle  what the linked records are, as table/id, by handle.
    """

    subject: PulseSubject
    level: int
    counts: Sequence[ValueCount] = ()
    changes: Sequence[ChangeRow] = ()
    linked_records: LinkedRecords | None = None
    linked_ids_by_handle: dict[str, str] = field(default_factory=dict)
    rows: Sequence[NearbyRow] = ()


def find_subject(tx: Transaction, record_id: UUID) -> PulseSubject | None:
    """Return the record; None when it is gone, or nobody has accepted it yet: a Pulse is for everybody."""
    tx.read_as(None)
    row = store.find_subject(tx, record_id)
    if row is None:
        return None
    kind = RecordType(row.type, row.type_name, row.type_properties, row.rag)
    text = snapshot_row(kind.snapshot_template, row.key, row.name, row.properties, row.classification).content
    return PulseSubject(row.id, kind, row.key, row.name, row.properties, row.classification, text, row.model_routing)


def find_levels(tx: Transaction, subject: PulseSubject) -> list[int]:
    """Return the record's own level and every higher one that occurs around it, ascending."""
    return [subject.classification, *store.find_levels(tx, subject.id, **_CLOSED_CONVERSATIONS, **_SCRATCH_DOCUMENTS)]


def read_material(
    tx: Transaction, subject: PulseSubject, level: int, now: datetime, tenant_id: UUID, question: str = ""
) -> SourceMaterial:
    """Everything at or below the level that is everybody's, in five statements. It follows the question, else the
    type's `pulse_prompt`.
    """
    tx.read_as(None)
    status = subject.record_type.settings.status_properties
    found = _read_linked_records(tx, subject.id, Principal(tenant_id, "user", clearance=level), now)
    return SourceMaterial(
        subject,
        level,
        store.count_values(tx, subject.id, level, status, named=_MAX_COUNTED_IDS, **_CLOSED_CONVERSATIONS),
        store.list_changes(tx, subject.id, level, most=MAX_CHANGES, pack=PACK_ORIGIN, **_CLOSED_CONVERSATIONS),
        found,
        store.find_source_ids(tx, [one.handle for one in found.records]) if found else {},
        store.find_nearby_rows(
            tx,
            subject.id,
            level,
            focus=question or subject.record_type.settings.pulse_prompt,
            most=MAX_NEAREST_ROWS,
            linked=MAX_LINKED_ROWS,
            fresh=MAX_UNEMBEDDED_ROWS,
            min_score=MIN_NEIGHBOUR_SCORE,
            min_share=MIN_FOCUS_SHARE,
            k=fusion.RRF_K,
            files=MAX_NEWEST_FILES,
            of_file=MAX_ROWS_PER_FILE,
            **_CLOSED_CONVERSATIONS,
            **_SCRATCH_DOCUMENTS,
        ),
    )


def _read_linked_records(tx: Transaction, record_id: UUID, reader: Principal, now: datetime) -> LinkedRecords | None:
    """Return the links as somebody outside every team sees them, without restricted conversations."""
    found = linked_records.read_focus_record(reader, tx, record_id, now=now)
    if found is None:
        return None
    over = [
        one
        for one in found.linked_records.records
        if one.type == CONVERSATION_TYPE and one.state in CLOSED_CONVERSATION_STATES
    ]
    kept = tuple(one for one in found.linked_records.records if one not in over)
    kinds = [
        LinkedType(one.key, one.name, one.total - len(over) * (one.key == CONVERSATION_TYPE))
        for one in found.linked_records.types
    ]
    return replace(found.linked_records, records=kept, types=tuple(one for one in kinds if one.total))
