"""What a record is linked to: for the briefing of a conversation about it, for tools and for the console.

One edge far, never further, and one query. Who may not see a record does not see it here either, nor is it counted.
"""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records import store
from parlour.records.linked_records_text import (
    ACTIVE_STATES,
    DUE_PROPERTIES,
    MAX_PER_TYPE,
    SCRATCH_NAMES,
    TYPE_ORDER,
    DirectedRelation,
    LinkedRecord,
    LinkedRecords,
    LinkedType,
)
from parlour.records.record import RecordKey, RecordRef, parse_reference, printable_reference
from parlour.records.record_type import RecordTypeSettings
from parlour.records.snapshots import SnapshotTemplate, snapshot_row
from parlour.records.store import LastWrite, LinkedRecordsRow

LINKED_PAGE_SIZE = 8
"""Records on one page of the full form: with descriptions about 150 tokens each, so one page is what a turn's tool
results may take."""

_NO_LIMIT = 1_000_000
_CACHE_SECONDS = timedelta(seconds=60)
_MAX_CACHE_ENTRIES = 200


@dataclass(frozen=True, slots=True)
class LinkedPage:
    """One page of the links of a record; `of` pages in all, of the kind that was asked for."""

    linked: LinkedRecords
    page_number: int
    page_count: int


@dataclass(frozen=True, slots=True)
class FocusRecord:
    """The record that a conversation is about, as a reader may see it; `text` is what it says, as it is searched,
    `budget` what its kind says otherwise than an agent's budget, `pulse` whether its kind has Pulses."""

    id: UUID
    text: str
    linked_records: LinkedRecords
    budget_override: JsonObject | None = None
    has_pulses: bool = False


@dataclass(frozen=True, slots=True)
class _CacheKey:
    """What decides what a reader sees of a record."""

    tenant_id: UUID
    entity_id: UUID
    clearance: int
    team_id: UUID | None
    sees_all_teams: bool


@dataclass(frozen=True, slots=True)
class _CacheEntry:
    focus_record: FocusRecord | None
    transaction_id: str
    expires_at: datetime


@dataclass(slots=True)
class LinkedRecordsCache:
    """What was read in the last minute by this worker.

    An entry is used only while the tenant's records are as they were: every transaction that writes records leaves a
    mark behind with its commit (`record_writes`), whichever worker it ran on; the mark that an entry was read under is
    compared with the one that is there now, which costs a look at one row, or nothing where the transaction has it
    from another statement. So nothing stale is ever returned; the minute merely bounds what is kept. Within a
    transaction that has itself written, nothing is taken from here or put here: its own mark is still to come. Not
    shared between threads.
    """

    _entries: OrderedDict[_CacheKey, _CacheEntry] = field(default_factory=OrderedDict)

    def find(self, key: _CacheKey, now: datetime) -> _CacheEntry | None:
        kept = self._entries.get(key)
        return kept if kept and kept.expires_at > now else None

    def put(self, key: _CacheKey, kept: _CacheEntry) -> None:
        self._entries[key] = kept
        self._entries.move_to_end(key)
        while len(self._entries) > _MAX_CACHE_ENTRIES:
            self._entries.popitem(last=False)


@dataclass(frozen=True, slots=True)
class _Page:
    """Which of the linked records are read: at most `limit` after `skip`, of one type or at most `per_type` of each."""

    per_type: int = _NO_LIMIT
    type_key: str | None = None
    skip: int = 0
    limit: int = _NO_LIMIT


def read_focus_record(
    principal: Principal,
    tx: Transaction,
    entity_id: UUID,
    *,
    team_id: UUID | None = None,
    cache: LinkedRecordsCache | None = None,
    last_write: str | None = None,
    now: datetime,
) -> FocusRecord | None:
    """Return the record and the first three of each type that it is linked to; None when the principal may not see it.

    cache       shared by readers; leave it out for one who sees unverified records of their own.
    last_write  the transaction that wrote the tenant's records last, if this transaction has read it and has
    written nothing.
    """
    key = _CacheKey(principal.tenant_id, entity_id, principal.clearance, team_id, _sees_all_teams(principal))
    known = cache.find(key, now) if cache else None
    if known and (
        store.read_last_write(tx) if last_write is None else LastWrite(last_write, is_cacheable=True)
    ) == LastWrite(known.transaction_id, is_cacheable=True):
        return known.focus_record
    row = _read(principal, tx, entity_id, team_id, _Page(per_type=MAX_PER_TYPE))
    found = _focus(row)
    if cache and row.is_cacheable:
        cache.put(key, _CacheEntry(found, row.transaction_id, now + _CACHE_SECONDS))
    return found


def read_linked_page(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    *,
    team_id: UUID | None = None,
    type_key: str | None = None,
    page_number: int = 1,
    limit: int = LINKED_PAGE_SIZE,
) -> LinkedPage:
    """One page of everything that a record is linked to, with descriptions; `kind` leaves out all others.

    NotFound when there is no such record for the principal. A page after the last is empty.
    """
    page = _Page(type_key=type_key, skip=(page_number - 1) * limit, limit=limit)
    row = _read(principal, tx, ref, team_id, page)
    if row.id is None:
        raise NotFound(f"record {printable_reference(ref)} not found; search for it, or list the records of its type")
    linked = _linked(row)
    wanted = sum(one.total for one in linked.types if type_key in (None, one.key))
    return LinkedPage(linked, page_number, max(1, -(-wanted // limit)))


def _read(
    principal: Principal,
    tx: Transaction,
    ref: RecordRef,
    team_id: UUID | None,
    page: _Page,
) -> LinkedRecordsRow:
    what = parse_reference(ref)
    handle = what if isinstance(what, RecordKey) else RecordKey("", "")
    return store.read_linked_records(
        tx,
        id=what if isinstance(what, UUID) else None,
        type=handle.type,
        key=handle.key,
        clearance=principal.clearance,
        team_id=team_id,
        sees_teams=_sees_all_teams(principal),
        per_kind=page.per_type,
        kind=page.type_key,
        skip=page.skip,
        most=page.limit,
        kinds=list(TYPE_ORDER),
        active=list(ACTIVE_STATES),
        scratch=list(SCRATCH_NAMES),
        due=list(DUE_PROPERTIES),
    )


def _sees_all_teams(principal: Principal) -> bool:
    """Members and Parlour itself see every team's documents; a user only those of the team that they talk to."""
    return principal.kind != "user"


def _focus(row: LinkedRecordsRow) -> FocusRecord | None:
    if row.id is None:
        return None
    kind = SnapshotTemplate(row.type, row.type_name, row.type_properties, row.rag)
    text = snapshot_row(kind, row.key, row.name, row.properties, row.classification).content
    settings = RecordTypeSettings.parse(row.rag)
    return FocusRecord(row.id, text, _linked(row), settings.budget, settings.has_pulses)


def _linked(row: LinkedRecordsRow) -> LinkedRecords:
    kinds = tuple(LinkedType(str(one["key"]), str(one["name"]), int(str(one["total"]))) for one in row.types)
    return LinkedRecords(f"{row.type}/{row.key}", row.name, kinds, tuple(map(_record, row.records)))


def _record(found: JsonObject) -> LinkedRecord:
    relations = found["relations"]
    return LinkedRecord(
        handle=f"{found['type']}/{found['key']}",
        type=str(found["type"]),
        type_name=str(found["type_name"]),
        name=str(found["name"]),
        relations=tuple(map(_relation, relations if isinstance(relations, list) else [])),
        state=str(found["state"] or ""),
        subtype=str(found["type_key"] or ""),
        due=str(found["due"] or ""),
        description=str(found["description"] or ""),
        is_context=bool(found["is_context"]),
    )


def _relation(pair: Json) -> DirectedRelation:
    name, direction = pair if isinstance(pair, list) else ("", "")
    return DirectedRelation(str(name), "outgoing" if direction == "outgoing" else "incoming")
