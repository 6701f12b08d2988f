"""Entities and edges in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.rows import RowDraft
from parlour.knowledge.records.definition import Definition
from parlour.knowledge.records.record import Entity, EntityKey
from parlour.knowledge.records.relations import BETWEEN_EQUALS, SAID_BY_THE_WHOLE

SQL = Queries.beside(__file__)

type SnapshotRow = tuple[UUID, UUID, RowDraft]
"""A row's own id, its record's, and what it says."""

type DeltaRow = tuple[UUID, UUID, RowDraft, UUID | None, bool]
"""A row's own id, its record's, what it says, the other record that it names, and whether it gets a vector."""


@dataclass(frozen=True, slots=True)
class EntityId:
    """An entity's id with the type and key it was asked for by."""

    id: UUID
    type: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity as it is; the version, and its project's id and level, where they were asked for."""

    id: UUID
    type: str
    key: str
    name: str
    properties: JsonObject
    classification: int
    deleted: bool
    project: str | None
    version: int = 1
    project_id: UUID | None = None
    project_level: int = 0


@dataclass(frozen=True, slots=True)
class Id:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Named:
    """One name."""

    name: str


@dataclass(frozen=True, slots=True)
class StoredEdge:
    """A link, by the ids of its ends."""

    source_id: UUID
    target_id: UUID
    relation: str


@dataclass(frozen=True, slots=True)
class NamedEdge:
    """A link, by the types and keys of its ends."""

    source_type: str
    source_key: str
    target_type: str
    target_key: str
    relation: str


def entity_ids(tx: Transaction, types: Sequence[str], keys: Sequence[str]) -> list[EntityId]:
    return tx.all(SQL["entity_ids"], EntityId, types=list(types), keys=list(keys))


def stored_entities(tx: Transaction, types: Sequence[str], keys: Sequence[str]) -> list[StoredEntity]:
    return tx.all(SQL["stored_entities"], StoredEntity, types=list(types), keys=list(keys))


def free_keys(tx: Transaction, keys: Sequence[EntityKey]) -> int:
    """Let what was deleted go on under other names. How many that were."""
    return tx.run(SQL["free_keys"], types=[one.type for one in keys], keys=[one.key for one in keys])


def put_entities(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["put_entity"], rows)


def all_entities(tx: Transaction, clearance: int) -> list[StoredEntity]:
    return tx.all(SQL["all_entities"], StoredEntity, clearance=clearance)


def pack_entities(tx: Transaction) -> list[EntityId]:
    return tx.all(SQL["pack_entities"], EntityId)


def entity_types(tx: Transaction) -> list[Definition]:
    return tx.all(SQL["entity_types"], Definition)


def entity_type(tx: Transaction, key: str) -> Definition | None:
    return tx.first(SQL["entity_type"], Definition, key=key)


def entity_type_by_id(tx: Transaction, type_id: UUID) -> Definition | None:
    return tx.first(SQL["entity_type_by_id"], Definition, id=type_id)


def add_entity_type(tx: Transaction, kind: Definition, type_id: UUID, now: datetime) -> bool:
    return tx.run(SQL["add_entity_type"], id=type_id, key=kind.key, now=now, **kind.config) > 0


def renew_entity_type(tx: Transaction, kind: Definition, now: datetime) -> bool:
    return tx.run(SQL["renew_entity_type"], id=kind.id, version=kind.version, now=now, **kind.config) > 0


def join_writers(tx: Transaction) -> None:
    """Write when nobody else writes the tenant's records, until the transaction ends."""
    tx.run(SQL["join_writers"])


def records(tx: Transaction, ids: Sequence[UUID], keys: Sequence[EntityKey], clearance: int) -> list[Entity]:
    types, names = [key.type for key in keys], [key.key for key in keys]
    return tx.all(SQL["records"], Entity, ids=list(ids), types=types, keys=names, clearance=clearance)


def hold_record(tx: Transaction, record_id: UUID) -> None:
    tx.run(SQL["hold_record"], id=record_id)


def record_of_origin(tx: Transaction, origin: str) -> StoredEntity | None:
    return tx.first(SQL["record_of_origin"], StoredEntity, origin=origin)


def add_record(tx: Transaction, columns: Mapping[str, object]) -> bool:
    return tx.run(SQL["add_record"], **columns) > 0


def change_record(
    tx: Transaction, after: Entity, *, moved: bool, project_id: UUID | None, by: str, now: datetime
) -> None:
    own = {"name": after.name, "properties": after.properties, "classification": after.classification}
    tx.run(SQL["change_record"], id=after.id, moved=moved, project_id=project_id, by=by, now=now, **own)


def follow_records(tx: Transaction, records: Sequence[tuple[UUID, str, int]], now: datetime) -> None:
    """The documents of records, by the records' ids, have these names and levels."""
    rows = [{"id": one, "name": name, "classification": level, "now": now} for one, name, level in records]
    tx.run_many(SQL["follow_record"], rows)


def close_rows(tx: Transaction, records: Sequence[tuple[UUID, int]]) -> None:
    """What names a record, by its id, is no more open than this."""
    tx.run_many(SQL["close_rows"], [{"id": one, "classification": level} for one, level in records])


def context_of(tx: Transaction, project_id: UUID) -> list[UUID]:
    return [row.id for row in tx.all(SQL["context_of"], Id, id=project_id)]


def delete_records(tx: Transaction, ids: Sequence[UUID], by: str, now: datetime) -> None:
    """Records and all that is searched of what is about them."""
    tx.run(SQL["delete_records"], ids=list(ids), by=by, now=now)
    tx.run(SQL["delete_record_rows"], ids=list(ids), now=now)


def put_snapshots(tx: Transaction, rows: Sequence[SnapshotRow], now: datetime) -> None:
    tx.run_many(SQL["put_snapshot"], [_row(*row, now) for row in rows])


def add_deltas(tx: Transaction, rows: Sequence[DeltaRow], now: datetime) -> None:
    tx.run_many(
        SQL["add_delta"],
        [
            _row(row_id, entity_id, draft, now)
            | {"ordinal": draft.ordinal, "other_id": other_id, "pending": gets_vector}
            for row_id, entity_id, draft, other_id, gets_vector in rows
        ],
    )


def was_changed(tx: Transaction, record_id: UUID, origin: str) -> bool:
    return tx.value(SQL["was_changed"], id=record_id, origin=origin) is not None


def drop_descriptions(tx: Transaction, ids: Sequence[UUID]) -> None:
    tx.run(SQL["drop_descriptions"], ids=list(ids))


def mark_stale(
    tx: Transaction, ids: Sequence[UUID], *, cause: str | None, above: str | None, now: datetime, **fixed: object
) -> int:
    return tx.run(
        SQL["mark_stale"],
        ids=list(ids),
        cause=cause,
        above=above,
        said_by_the_whole=SAID_BY_THE_WHOLE,
        between_equals=BETWEEN_EQUALS,
        now=now,
        **fixed,
    )


def hurry_pulse(tx: Transaction, record_id: UUID, now: datetime) -> None:
    tx.run(SQL["hurry_pulse"], id=record_id, now=now)


@dataclass(frozen=True, slots=True)
class MarksRow:
    """What a record's Pulses do not tell of."""

    marks: int
    marks_told: int
    stale_since: datetime | None
    stale_causes: list[str]
    stale_marks: JsonObject


def marks(tx: Transaction, record_id: UUID) -> MarksRow | None:
    return tx.first(SQL["marks"], MarksRow, id=record_id)


def linked_to(tx: Transaction, record_id: UUID) -> list[UUID]:
    kinds = {"said_by_the_whole": SAID_BY_THE_WHOLE, "between_equals": BETWEEN_EQUALS}
    return [row.id for row in tx.all(SQL["linked_to"], Id, id=record_id, **kinds)]


def count_marks(tx: Transaction, record_id: UUID) -> None:
    tx.run(SQL["count_marks"], id=record_id)


def hold_quiet(tx: Transaction, record_id: UUID) -> bool:
    return tx.value(SQL["hold_quiet"], id=record_id) is not None


def tell_marks(tx: Transaction, record_id: UUID, told: int, read_at: datetime, *, is_quiet: bool) -> datetime | None:
    since: datetime | None = tx.value(SQL["tell_marks"], id=record_id, told=told, read_at=read_at, is_quiet=is_quiet)
    return since


def browse(tx: Transaction, **asked: object) -> list[Entity]:
    return tx.all(SQL["browse"], Entity, **asked)


def undescribed(tx: Transaction, type_id: UUID, most: int) -> list[StoredEntity]:
    return tx.all(SQL["undescribed"], StoredEntity, type_id=type_id, most=most)


def described(tx: Transaction, ids: Sequence[UUID], version: int) -> None:
    tx.run(SQL["described"], ids=list(ids), version=version)


def settle_described(tx: Transaction, type_id: UUID) -> bool:
    """Whether nothing was left, and the type's mark is gone."""
    return tx.run(SQL["settle_described"], type_id=type_id) > 0


def edge_of_origin(tx: Transaction, origin: str) -> StoredEdge | None:
    return tx.first(SQL["edge_of_origin"], StoredEdge, origin=origin)


def link(tx: Transaction, columns: Mapping[str, object]) -> bool:
    return tx.run(SQL["link"], **columns) > 0


def unlink(tx: Transaction, source_id: UUID, target_id: UUID, relation: str) -> bool:
    return tx.run(SQL["unlink"], source_id=source_id, target_id=target_id, relation=relation) > 0


def relations_in_use(tx: Transaction, clearance: int) -> frozenset[str]:
    return frozenset(row.name for row in tx.all(SQL["relations_in_use"], Named, clearance=clearance))


def _row(row_id: UUID, entity_id: UUID, draft: RowDraft, now: datetime) -> dict[str, object]:
    return {
        "id": row_id,
        "entity_id": entity_id,
        "title": draft.title,
        "content": draft.content,
        "content_hash": draft.content_hash,
        "classification": draft.classification,
        "metadata": draft.metadata,
        "now": now,
    }


def stored_edges(tx: Transaction, source_ids: Sequence[UUID]) -> list[StoredEdge]:
    return tx.all(SQL["stored_edges"], StoredEdge, source_ids=list(source_ids))


def add_edges(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["add_edge"], rows)


def all_edges(tx: Transaction, clearance: int) -> list[NamedEdge]:
    return tx.all(SQL["all_edges"], NamedEdge, clearance=clearance)


@dataclass(frozen=True, slots=True)
class Mark:
    """Of the transaction that wrote the tenant's records last; settled: it covers all that this transaction sees,
    which has written nothing itself."""

    latest: str
    settled: bool


def record_mark(tx: Transaction) -> Mark | None:
    return tx.first(SQL["record_mark"], Mark)


@dataclass(frozen=True, slots=True)
class LinkedRow:
    """A record with what it is linked to, and the mark that it was read under; id is None when there is no such
    record."""

    latest: str
    settled: bool
    id: UUID | None
    type: str
    type_name: str
    key: str
    name: str
    properties: JsonObject
    classification: int
    type_properties: JsonObject
    rag: JsonObject
    kinds: list[JsonObject]
    records: list[JsonObject]


def linked(tx: Transaction, **wanted: object) -> LinkedRow:
    return tx.one(SQL["linked"], LinkedRow, **wanted)
