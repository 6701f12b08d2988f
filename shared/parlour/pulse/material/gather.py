"""Everything that a record's Pulse may be written from, read for one classification level at a time.

What stands above a level is never read for it: neither its rows, nor how many they are, nor what they are called.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import linked
from parlour.knowledge.records.changes import PACK
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.kinds import CLOSED_TALK, TALK
from parlour.knowledge.records.linked_text import SCRATCH, Kind, Linked
from parlour.knowledge.records.relations import BETWEEN_EQUALS, SAID_BY_THE_WHOLE
from parlour.knowledge.records.snapshots import snapshot
from parlour.principal import Principal
from parlour.pulse.material import store
from parlour.pulse.material.store import Change, Count, Row, SubjectRow

NEAREST = 16
"""Rows by the record's own vector; how many of them get in, the budget says."""

FRESH = 4
"""Rows that have no vector yet: what was written just now is told of before anybody knows how near it is."""

CHANGES = 20
"""The newest changes."""

NEWEST_FILES, OF_FILE = 3, 2
"""The newest files, each with what it says in short and with its nearest pieces: what came in last is told of, however
far from the record's own words it is."""

_NAMED = 500
"""Records of one count that a Pulse remembers having counted; a mark on the record tells of the others."""

_OVER: dict[str, object] = {"talk": TALK, "over": list(CLOSED_TALK)}
_PARTS: dict[str, object] = {"said_by_the_whole": SAID_BY_THE_WHOLE, "between_equals": BETWEEN_EQUALS}
_SCRATCH: dict[str, object] = {"scratch": list(SCRATCH)}


@dataclass(frozen=True, slots=True)
class Subject:
    """The record that a Pulse is about.

    text      what it says, as it is searched.
    routing   which models are asked; None for a tenant without agents.
    """

    id: UUID
    kind: Definition
    key: str
    name: str
    properties: JsonObject
    level: int
    text: str
    routing: JsonObject | None

    @property
    def handle(self) -> str:
        """`type/key`."""
        return f"{self.kind.key}/{self.key}"


@dataclass(frozen=True, slots=True)
class Gathered:
    """What may be told of a record to a reader of one level.

    linked_rows  what the linked records are, as table/id, by handle.
    """

    subject: Subject
    level: int
    counts: Sequence[Count] = ()
    changes: Sequence[Change] = ()
    linked: Linked | None = None
    linked_rows: dict[str, str] = field(default_factory=dict)
    rows: Sequence[Row] = ()


def subject(tx: Transaction, record_id: UUID) -> Subject | None:
    """The record; None when it is there no more."""
    row = store.subject(tx, record_id)
    return _subject(row) if row else None


def levels(tx: Transaction, about: Subject) -> list[int]:
    """The record's own level and every higher one that occurs around it, ascending."""
    return [about.level, *store.levels(tx, about.id, **_OVER, **_SCRATCH)]


def gather(tx: Transaction, about: Subject, level: int, now: datetime, tenant_id: UUID) -> Gathered:
    """Everything at or below the level, in five statements."""
    status = about.kind.settings.status_properties
    found = _linked(tx, about.id, Principal(tenant_id, "user", clearance=level), now)
    return Gathered(
        about,
        level,
        store.counts(tx, about.id, level, status, named=_NAMED, **_OVER, **_PARTS),
        store.changes(tx, about.id, level, most=CHANGES, pack=PACK, **_OVER, **_PARTS),
        found,
        store.named(tx, [one.handle for one in found.records]) if found else {},
        store.rows(
            tx, about.id, level, most=NEAREST, fresh=FRESH, files=NEWEST_FILES, of_file=OF_FILE, **_OVER, **_SCRATCH
        ),
    )  # fmt: skip


def _subject(row: SubjectRow) -> Subject:
    kind = Definition(row.type, row.type_name, row.type_properties, row.rag)
    text = snapshot(kind.record_type, row.key, row.name, row.properties, row.classification).content
    return Subject(row.id, kind, row.key, row.name, row.properties, row.classification, text, row.routing)


def _linked(tx: Transaction, record_id: UUID, reader: Principal, now: datetime) -> Linked | None:
    """The links as somebody outside every team sees them, without conversations that were closed."""
    found = linked.focus(reader, tx, record_id, now=now)
    if found is None:
        return None
    over = [one for one in found.linked.records if one.kind == TALK and one.state in CLOSED_TALK]
    kept = tuple(one for one in found.linked.records if one not in over)
    kinds = [Kind(one.key, one.name, one.total - len(over) * (one.key == TALK)) for one in found.linked.kinds]
    return replace(found.linked, records=kept, kinds=tuple(one for one in kinds if one.total))
