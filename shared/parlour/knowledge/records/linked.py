"""What a record is linked to: for the briefing of a conversation about it, for tools and for the console.

One edge far, never further, and one query. Who may not see a record does not see it here either, nor is it counted.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import store
from parlour.knowledge.records.definition import Settings
from parlour.knowledge.records.linked_text import (
    ACTIVE,
    DUE,
    KINDS,
    PER_KIND,
    SCRATCH,
    Kind,
    Linked,
    LinkedRecord,
    Relation,
)
from parlour.knowledge.records.record import EntityKey, Ref, named, shown
from parlour.knowledge.records.snapshots import RecordType, snapshot
from parlour.knowledge.records.store import LinkedRow, Mark
from parlour.principal import Principal

PAGE = 8
"""Records on one page of the full form: with descriptions about 150 tokens each, so one page is what a turn's tool
results may take."""

_EVERY_PAGE = 1_000_000
_KEPT = timedelta(seconds=60)
_MOST_KEPT = 200


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the links of a record; `of` pages in all, of the kind that was asked for."""

    linked: Linked
    number: int
    of: int


@dataclass(frozen=True, slots=True)
class Focus:
    """The record that a conversation is about, as a reader may see it; `text` is what it says, as it is searched,
    `budget` what its kind says otherwise than an agent's budget, `pulse` whether its kind has Pulses."""

    id: UUID
    text: str
    linked: Linked
    budget: JsonObject | None = None
    pulse: bool = False


@dataclass(frozen=True, slots=True)
class _Key:
    """What decides what a reader sees of a record."""

    tenant_id: UUID
    entity_id: UUID
    clearance: int
    team_id: UUID | None
    sees_teams: bool


@dataclass(frozen=True, slots=True)
class _Kept:
    focus: Focus | None
    latest: str
    until: datetime


@dataclass(slots=True)
class LinkCache:
    """What was read in the last minute by this worker.

    An entry is used only while the tenant's records are as they were: every transaction that writes records leaves a
    mark behind with its commit (`record_writes`), whichever worker it ran on; the mark that an entry was read under is
    compared with the one that is there now, which costs a look at one row, or nothing where the transaction has it
    from another statement. So nothing stale is ever returned; the minute merely bounds what is kept. Within a
    transaction that has itself written, nothing is taken from here or put here: its own mark is still to come. Not
    shared between threads.
    """

    _kept: OrderedDict[_Key, _Kept] = field(default_factory=OrderedDict)

    def find(self, key: _Key, now: datetime) -> _Kept | None:
        kept = self._kept.get(key)
        return kept if kept and kept.until > now else None

    def keep(self, key: _Key, kept: _Kept) -> None:
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


def focus(
    principal: Principal,
    tx: Transaction,
    entity_id: UUID,
    *,
    team_id: UUID | None = None,
    cache: LinkCache | None = None,
    mark: str | None = None,
    now: datetime,
) -> Focus | None:
    """The record and the first three of each kind that it is linked to; None when the principal may not see it.

    `mark`: of whoever wrote the tenant's records last, if this transaction has read it and has written nothing.
    """
    key = _Key(principal.tenant_id, entity_id, principal.clearance, team_id, _sees_teams(principal))
    known = cache.find(key, now) if cache else None
    if known and _mark(tx, mark) == Mark(known.latest, settled=True):
        return known.focus
    row = _read(principal, tx, entity_id, team_id=team_id, per_kind=PER_KIND)
    found = _focus(row)
    if cache and row.settled:
        cache.keep(key, _Kept(found, row.latest, now + _KEPT))
    return found


def page(
    principal: Principal,
    tx: Transaction,
    ref: Ref,
    *,
    team_id: UUID | None = None,
    kind: str | None = None,
    number: int = 1,
    most: int = PAGE,
) -> Page:
    """One page of everything that a record is linked to, with descriptions; `kind` leaves out all others.

    NotFound when there is no such record for the principal. A page after the last is empty.
    """
    row = _read(principal, tx, ref, team_id=team_id, kind=kind, skip=(number - 1) * most, most=most)
    if row.id is None:
        raise NotFound(f"there is no record {shown(ref)}; search for it, or ask for the list of its type")
    linked = _linked(row)
    wanted = sum(one.total for one in linked.kinds if kind in (None, one.key))
    return Page(linked, number, max(1, -(-wanted // most)))


def _read(
    principal: Principal, tx: Transaction, ref: Ref, *, team_id: UUID | None,
    per_kind: int = _EVERY_PAGE, kind: str | None = None, skip: int = 0, most: int = _EVERY_PAGE,
) -> LinkedRow:  # fmt: skip
    what = named(ref)
    handle = what if isinstance(what, EntityKey) else EntityKey("", "")
    return store.linked(
        tx, id=what if isinstance(what, UUID) else None, type=handle.type, key=handle.key,
        clearance=principal.clearance, team_id=team_id, sees_teams=_sees_teams(principal),
        per_kind=per_kind, kind=kind, skip=skip, most=most, kinds=list(KINDS), active=list(ACTIVE),
        scratch=list(SCRATCH), due=list(DUE),
    )  # fmt: skip


def _mark(tx: Transaction, read: str | None) -> Mark | None:
    return store.record_mark(tx) if read is None else Mark(read, settled=True)


def _sees_teams(principal: Principal) -> bool:
    """Members and Parlour itself see every team's documents; a user only those of the team that they talk to."""
    return principal.kind != "user"


def _focus(row: LinkedRow) -> Focus | None:
    if row.id is None:
        return None
    kind = RecordType(row.type, row.type_name, row.type_properties, row.rag)
    text = snapshot(kind, row.key, row.name, row.properties, row.classification).content
    settings = Settings.of(row.rag)
    return Focus(row.id, text, _linked(row), settings.budget, settings.pulse)


def _linked(row: LinkedRow) -> Linked:
    kinds = tuple(Kind(str(one["key"]), str(one["name"]), int(str(one["total"]))) for one in row.kinds)
    return Linked(f"{row.type}/{row.key}", row.name, kinds, tuple(map(_record, row.records)))


def _record(found: JsonObject) -> LinkedRecord:
    relations = found["relations"]
    return LinkedRecord(
        handle=f"{found['type']}/{found['key']}",
        kind=str(found["type"]),
        kind_name=str(found["type_name"]),
        name=str(found["name"]),
        relations=tuple(map(_relation, relations if isinstance(relations, list) else [])),
        state=str(found["state"] or ""),
        type_key=str(found["type_key"] or ""),
        due=str(found["due"] or ""),
        description=str(found["description"] or ""),
        is_context=bool(found["is_context"]),
    )


def _relation(pair: Json) -> Relation:
    name, direction = pair if isinstance(pair, list) else ("", "")
    return Relation(str(name), "outgoing" if direction == "outgoing" else "incoming")
