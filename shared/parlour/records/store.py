"""Entities and edges in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.records.citation_target import CitationTarget
from parlour.records.record import Record, RecordKey
from parlour.records.record_type import RecordType
from parlour.search.index.context_rows import RowDraft

SQL = Queries.for_module(__file__)

type SnapshotRow = tuple[UUID, UUID, RowDraft]
"""A row's own id, its record's, and what it says."""

type DeltaRow = tuple[UUID, UUID, RowDraft, UUID | None, bool]
"""A row's own id, its record's, what it says, the other record that it names, and whether it gets a vector."""


@dataclass(frozen=True, slots=True)
class RecordIdRow:
    """An entity's id with the type and key it was asked for by."""

    id: UUID
    type: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """An entity as it is; the version, and its project's id and level, where they were asked for."""

    id: UUID
    type: str
    key: str
    name: str
    properties: JsonObject
    classification: int
    is_deleted: bool
    project: str | None
    version: int = 1
    project_id: UUID | None = None
    project_classification: int = 0


@dataclass(frozen=True, slots=True)
class IdRow:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class NameRow:
    """One name."""

    name: str


@dataclass(frozen=True, slots=True)
class StoredLink:
    """A link, by the ids of its ends."""

    source_id: UUID
    target_id: UUID
    relation: str


@dataclass(frozen=True, slots=True)
class LinkByKeys:
    """A link, by the types and keys of its ends."""

    source_type: str
    source_key: str
    target_type: str
    target_key: str
    relation: str


def find_record_ids(tx: Transaction, types: Sequence[str], keys: Sequence[str]) -> list[RecordIdRow]:
    return tx.all(SQL["entity_ids"], RecordIdRow, types=list(types), keys=list(keys))


def find_stored_records(tx: Transaction, types: Sequence[str], keys: Sequence[str]) -> list[StoredRecord]:
    return tx.all(SQL["stored_entities"], StoredRecord, types=list(types), keys=list(keys))


def free_deleted_keys(tx: Transaction, keys: Sequence[RecordKey]) -> int:
    """Let what was deleted go on under other names. How many that were."""
    return tx.run(SQL["free_deleted_keys"], types=[one.type for one in keys], keys=[one.key for one in keys])


def upsert_records(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["upsert_entity"], rows)


def list_all_records(tx: Transaction, clearance: int) -> list[StoredRecord]:
    return tx.all(SQL["all_entities"], StoredRecord, clearance=clearance)


def list_pack_records(tx: Transaction) -> list[RecordIdRow]:
    return tx.all(SQL["pack_entities"], RecordIdRow)


def find_records_with_additions(tx: Transaction, ids: Sequence[UUID]) -> list[UUID]:
    return [row.id for row in tx.all(SQL["records_with_additions"], IdRow, ids=list(ids))]


def list_used_types(tx: Transaction) -> frozenset[str]:
    return frozenset(row.name for row in tx.all(SQL["used_types"], NameRow))


def list_record_types(tx: Transaction) -> list[RecordType]:
    return tx.all(SQL["entity_types"], RecordType)


def find_record_type(tx: Transaction, key: str) -> RecordType | None:
    return tx.first(SQL["entity_type"], RecordType, key=key)


def find_record_type_by_id(tx: Transaction, type_id: UUID) -> RecordType | None:
    return tx.first(SQL["entity_type_by_id"], RecordType, id=type_id)


def add_record_type(tx: Transaction, kind: RecordType, type_id: UUID, now: datetime) -> bool:
    return tx.run(SQL["add_entity_type"], id=type_id, key=kind.key, now=now, **kind.config) > 0


def upgrade_record_type(tx: Transaction, kind: RecordType, now: datetime) -> bool:
    return tx.run(SQL["upgrade_entity_type"], id=kind.id, version=kind.version, now=now, **kind.config) > 0


def lock_tenant(tx: Transaction) -> None:
    """Write when nobody else writes the tenant's records, until the transaction ends."""
    tx.run(SQL["lock_tenant"])


def find_records(tx: Transaction, ids: Sequence[UUID], keys: Sequence[RecordKey], clearance: int) -> list[Record]:
    types, names = [key.type for key in keys], [key.key for key in keys]
    return tx.all(SQL["find_records"], Record, ids=list(ids), types=types, keys=names, clearance=clearance)


def lock_record(tx: Transaction, record_id: UUID) -> None:
    tx.run(SQL["lock_record"], id=record_id)


def find_record_by_origin(tx: Transaction, origin: str) -> StoredRecord | None:
    return tx.first(SQL["find_record_by_origin"], StoredRecord, origin=origin)


def add_record(tx: Transaction, columns: Mapping[str, object]) -> bool:
    return tx.run(SQL["add_record"], **columns) > 0


def update_record(
    tx: Transaction, after: Record, *, is_moved: bool, project_id: UUID | None, by: str, now: datetime
) -> None:
    own = {"name": after.name, "properties": after.properties, "classification": after.classification}
    tx.run(SQL["update_record"], id=after.id, moved=is_moved, project_id=project_id, by=by, now=now, **own)


def sync_documents_with_records(tx: Transaction, records: Sequence[tuple[UUID, str, int]], now: datetime) -> None:
    """Give the documents of records the names and levels of their records."""
    rows = [{"id": one, "name": name, "classification": level, "now": now} for one, name, level in records]
    tx.run_many(SQL["sync_document_with_record"], rows)


def restrict_rows(tx: Transaction, records: Sequence[tuple[UUID, int]]) -> None:
    """Restrict every row that names one of these records to the record's level."""
    tx.run_many(SQL["restrict_rows"], [{"id": one, "classification": level} for one, level in records])


def find_context_document_records(tx: Transaction, project_id: UUID) -> list[UUID]:
    return [row.id for row in tx.all(SQL["find_context_document_record"], IdRow, id=project_id)]


def delete_records(tx: Transaction, ids: Sequence[UUID], by: str, now: datetime) -> None:
    """Delete records and every searchable row about them."""
    tx.run(SQL["delete_records"], ids=list(ids), by=by, now=now)
    tx.run(SQL["delete_record_rows"], ids=list(ids), now=now)


def tombstone_files(
    tx: Transaction, file_ids: Sequence[UUID], record_ids: Sequence[UUID], now: datetime, due_at: datetime
) -> None:
    tx.run(SQL["tombstone_files"], ids=list(file_ids), record_ids=list(record_ids), now=now, due_at=due_at)


def upsert_snapshots(tx: Transaction, rows: Sequence[SnapshotRow], now: datetime) -> None:
    tx.run_many(SQL["upsert_snapshot"], [_row_columns(*row, now) for row in rows])


def add_deltas(tx: Transaction, rows: Sequence[DeltaRow], now: datetime) -> None:
    tx.run_many(
        SQL["add_delta"],
        [
            _row_columns(row_id, entity_id, draft, now)
            | {"ordinal": draft.ordinal, "other_id": other_id, "pending": gets_vector}
            for row_id, entity_id, draft, other_id, gets_vector in rows
        ],
    )


def has_change_of_origin(tx: Transaction, record_id: UUID, origin: str) -> bool:
    return tx.value(SQL["find_change_by_origin"], id=record_id, origin=origin) is not None


def delete_snapshots_and_deltas(tx: Transaction, ids: Sequence[UUID]) -> None:
    tx.run(SQL["delete_snapshots_and_deltas"], ids=list(ids))


def mark_stale(
    tx: Transaction, ids: Sequence[UUID], *, cause: str | None, parent_cause: str | None, now: datetime, **fixed: object
) -> int:
    return tx.run(
        SQL["mark_stale"],
        ids=list(ids),
        cause=cause,
        above=parent_cause,
        now=now,
        **fixed,
    )


def expedite_pulse(tx: Transaction, record_id: UUID, now: datetime) -> None:
    tx.run(SQL["expedite_pulse"], id=record_id, now=now)


@dataclass(frozen=True, slots=True)
class StaleMarksRow:
    """What a record's Pulses do not tell of."""

    stale_mark_count: int
    reflected_mark_count: int
    stale_since: datetime | None
    stale_causes: list[str]
    stale_marks: JsonObject


def read_stale_marks(tx: Transaction, record_id: UUID) -> StaleMarksRow | None:
    return tx.first(SQL["read_stale_marks"], StaleMarksRow, id=record_id)


def find_linked_record_ids(tx: Transaction, record_id: UUID) -> list[UUID]:
    return [row.id for row in tx.all(SQL["find_linked_record_ids"], IdRow, id=record_id)]


def merge_side_marks(tx: Transaction, record_id: UUID) -> None:
    tx.run(SQL["merge_side_marks"], id=record_id)


def try_lock_unmarked(tx: Transaction, record_id: UUID) -> bool:
    return tx.value(SQL["try_lock_unmarked"], id=record_id) is not None


def acknowledge_marks(
    tx: Transaction, record_id: UUID, up_to_mark: int, read_at: datetime, *, is_quiet: bool
) -> datetime | None:
    since: datetime | None = tx.value(
        SQL["acknowledge_marks"], id=record_id, told=up_to_mark, read_at=read_at, is_quiet=is_quiet
    )
    return since


def list_records(tx: Transaction, **asked: object) -> list[Record]:
    return tx.all(SQL["list_records"], Record, **asked)


def find_records_to_backfill(tx: Transaction, type_id: UUID, limit: int) -> list[StoredRecord]:
    return tx.all(SQL["find_records_to_backfill"], StoredRecord, type_id=type_id, most=limit)


def mark_backfilled(tx: Transaction, ids: Sequence[UUID], version: int) -> None:
    tx.run(SQL["mark_backfilled"], ids=list(ids), version=version)


def complete_backfill(tx: Transaction, type_id: UUID) -> bool:
    """Whether nothing was left, and the type's mark is gone."""
    return tx.run(SQL["complete_backfill"], type_id=type_id) > 0


def find_link_by_origin(tx: Transaction, origin: str) -> StoredLink | None:
    return tx.first(SQL["find_link_by_origin"], StoredLink, origin=origin)


def add_link(tx: Transaction, columns: Mapping[str, object]) -> bool:
    return tx.run(SQL["add_link"], **columns) > 0


def delete_link(tx: Transaction, source_id: UUID, target_id: UUID, relation: str) -> bool:
    return tx.run(SQL["delete_link"], source_id=source_id, target_id=target_id, relation=relation) > 0


def relations_in_use(tx: Transaction, clearance: int) -> frozenset[str]:
    return frozenset(row.name for row in tx.all(SQL["relations_in_use"], NameRow, clearance=clearance))


def _row_columns(row_id: UUID, entity_id: UUID, draft: RowDraft, now: datetime) -> dict[str, object]:
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


def find_links_between(
    tx: Transaction, sources: Sequence[RecordKey], targets: Sequence[RecordKey], relations: Sequence[str]
) -> list[LinkByKeys]:
    """Return those of these links that exist; one per position of the three lists."""
    return tx.all(
        SQL["links_between"],
        LinkByKeys,
        source_types=[key.type for key in sources],
        source_keys=[key.key for key in sources],
        target_types=[key.type for key in targets],
        target_keys=[key.key for key in targets],
        relations=list(relations),
    )


def list_links_from(tx: Transaction, source_ids: Sequence[UUID]) -> list[StoredLink]:
    return tx.all(SQL["stored_edges"], StoredLink, source_ids=list(source_ids))


def add_links(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["add_edge"], rows)


def list_all_links(tx: Transaction, clearance: int) -> list[LinkByKeys]:
    return tx.all(SQL["all_edges"], LinkByKeys, clearance=clearance)


@dataclass(frozen=True, slots=True)
class LastWrite:
    """Of the transaction that wrote the tenant's records last; settled: it covers all that this transaction sees,
    which has written nothing itself."""

    transaction_id: str
    is_cacheable: bool


def read_last_write(tx: Transaction) -> LastWrite | None:
    return tx.first(SQL["read_last_write"], LastWrite)


@dataclass(frozen=True, slots=True)
class LinkedRecordsRow:
    """A record with what it is linked to, and the mark that it was read under; id is None when there is no such
    record."""

    transaction_id: str
    is_cacheable: bool
    id: UUID | None
    type: str
    type_name: str
    key: str
    name: str
    properties: JsonObject
    classification: int
    type_properties: JsonObject
    rag: JsonObject
    types: list[JsonObject]
    records: list[JsonObject]


def read_linked_records(tx: Transaction, **wanted: object) -> LinkedRecordsRow:
    return tx.one(SQL["read_linked_records"], LinkedRecordsRow, **wanted)


def accept_record(tx: Transaction, record_id: UUID, by: str, now: datetime) -> bool:
    """Whether it was unverified."""
    return tx.value(SQL["accept_record"], id=record_id, by=by, now=now) is not None


def find_citation_targets(tx: Transaction, source_ids: Sequence[str], clearance: int) -> list[CitationTarget]:
    return tx.all(SQL["find_citation_targets"], CitationTarget, rows=list(source_ids), clearance=clearance)
