"""Searchable rows and their vectors in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.search.index.context_rows import RowDraft, StoredRow, vector_literal
from parlour.search.index.message_rows import UnindexedMessage

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class RowOwner:
    """What rows belong to: a document or a file (perhaps about an entity), or an entity itself. `team_id`: the team
    whose own it is; None is everybody's."""

    document_id: UUID | None
    entity_id: UUID | None
    file_id: UUID | None = None
    team_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class PendingWork:
    """What there is for the embedder to do.

    old_vectors_since  when the tenant's move to another model ended, while vectors of the old model may be left.
    """

    has_messages: bool
    has_rows: bool
    has_types: bool
    is_reembedding: bool
    old_vectors_since: datetime | None


@dataclass(frozen=True, slots=True)
class Reembedding:
    """A tenant's move to the space of another model: `done` of `total` rows have their vector there.

    cursor       the last row that has; finished_at: since when searches look there.
    cleared_at   since when the vectors of the space it came from are gone.
    """

    space: str
    cursor: UUID | None
    done: int
    total: int
    started_at: datetime
    finished_at: datetime | None
    cleared_at: datetime | None


@dataclass(frozen=True, slots=True)
class TypeIdRow:
    """A type whose records have to be described anew."""

    id: UUID


@dataclass(frozen=True, slots=True)
class RowText:
    """A row's text to embed."""

    id: UUID
    content: str


def lock_tenant(tx: Transaction) -> None:
    """Queue up behind whoever writes this tenant's knowledge."""
    tx.run(SQL["lock_tenant"])


def list_document_rows(tx: Transaction, ids: Sequence[UUID], space: str) -> list[StoredRow]:
    return tx.all(SQL["list_document_rows"], StoredRow, ids=list(ids), space=space)


def list_snapshot_rows(tx: Transaction, ids: Sequence[UUID], space: str) -> list[StoredRow]:
    return tx.all(SQL["list_snapshot_rows"], StoredRow, ids=list(ids), space=space)


def add_rows(
    tx: Transaction, rows: Sequence[tuple[UUID, RowOwner, RowDraft]], now: datetime, *, is_pending: bool = False
) -> None:
    more = {"now": now, "pending": is_pending}
    tx.run_many(SQL["add_row"], [_row_columns(row_id, owner, draft) | more for row_id, owner, draft in rows])


def update_rows(tx: Transaction, rows: Sequence[tuple[UUID, RowOwner, RowDraft]]) -> None:
    tx.run_many(SQL["update_row"], [_row_columns(row_id, owner, draft) for row_id, owner, draft in rows])


def delete_rows(tx: Transaction, ids: Sequence[UUID]) -> None:
    if ids:
        tx.run(SQL["delete_rows"], ids=list(ids))


def add_vectors(tx: Transaction, space: str, vectors: Mapping[UUID, Sequence[float]]) -> None:
    rows = [{"row_id": row_id, "space": space, "vector": vector_literal(values)} for row_id, values in vectors.items()]
    tx.run_many(SQL["add_vector"], rows)


def tenant_space(tx: Transaction) -> str | None:
    """Return the tenant's own space, None where it is the deployment's."""
    found: str | None = tx.value(SQL["tenant_space"])
    return found


def read_pending_work(tx: Transaction) -> PendingWork | None:
    """Return what the embedder has to do for the tenant; None when that is nothing."""
    return tx.first(SQL["read_pending_work"], PendingWork)


def find_unindexed_messages(tx: Transaction, limit: int) -> list[UnindexedMessage]:
    return tx.all(SQL["find_unindexed_messages"], UnindexedMessage, most=limit)


def add_message_rows(tx: Transaction, rows: Sequence[tuple[UUID, UnindexedMessage, RowDraft]]) -> None:
    tx.run_many(
        SQL["add_message_row"],
        [
            _row_columns(row_id, RowOwner(None, None), draft)
            | {"session_id": said.session_id, "message_id": said.id, "at": said.sent_at}
            for row_id, said, draft in rows
        ],
    )


def mark_indexed(tx: Transaction, ids: Sequence[UUID]) -> None:
    if ids:
        tx.run(SQL["mark_indexed"], ids=list(ids))


def find_pending_rows(tx: Transaction, limit: int) -> list[RowText]:
    return tx.all(SQL["find_pending_rows"], RowText, most=limit)


def oldest_pending_since(tx: Transaction) -> datetime | None:
    """Since when the oldest row waits for its vector; None when none does."""
    since: datetime | None = tx.value(SQL["oldest_pending_since"])
    return since


def store_vectors(tx: Transaction, space: str, vectors: Mapping[UUID, Sequence[float]]) -> None:
    rows = [{"row_id": row_id, "space": space, "vector": vector_literal(values)} for row_id, values in vectors.items()]
    tx.run_many(SQL["store_vector"], rows)


def give_up_rows(tx: Transaction, ids: Sequence[UUID]) -> None:
    tx.run_many(SQL["give_up_row"], [{"row_id": row_id} for row_id in ids])


def find_types_to_backfill(tx: Transaction) -> list[UUID]:
    return [row.id for row in tx.all(SQL["find_types_to_backfill"], TypeIdRow)]


def find_reembedding(tx: Transaction) -> Reembedding | None:
    """Return the tenant's last move; None when it was never moved."""
    return tx.first(SQL["find_reembedding"], Reembedding)


def get_reembedding(tx: Transaction) -> Reembedding:
    """Return the tenant's move, which exists."""
    return tx.one(SQL["find_reembedding"], Reembedding)


def start_reembedding(tx: Transaction, space: str, now: datetime) -> None:
    tx.run(SQL["start_reembedding"], space=space, now=now)


def find_rows_to_reembed(tx: Transaction, space: str, cursor: UUID | None, limit: int) -> list[RowText]:
    return tx.all(SQL["find_rows_to_reembed"], RowText, space=space, cursor=cursor, most=limit)


def add_reembedded_vectors(tx: Transaction, space: str, vectors: Mapping[UUID, Sequence[float]]) -> None:
    rows = [{"row_id": row_id, "space": space, "vector": vector_literal(values)} for row_id, values in vectors.items()]
    tx.run_many(SQL["add_reembedded_vector"], rows)


def delete_vectors(tx: Transaction, ids: Sequence[UUID]) -> None:
    tx.run_many(SQL["delete_vectors"], [{"row_id": row_id} for row_id in ids])


def save_progress(tx: Transaction, *, cursor: UUID, before: int, done: int) -> None:
    tx.run(SQL["save_progress"], cursor=cursor, before=before, done=done)


def switch_searches(tx: Transaction, space: str, now: datetime) -> None:
    tx.run(SQL["switch_searches"], space=space, now=now)


def delete_old_vectors(tx: Transaction, space: str, limit: int) -> int:
    """How many went."""
    return tx.run(SQL["delete_old_vectors"], space=space, most=limit)


def mark_old_vectors_deleted(tx: Transaction, now: datetime) -> None:
    tx.run(SQL["mark_old_vectors_deleted"], now=now)


def _row_columns(row_id: UUID, owner: RowOwner, draft: RowDraft) -> dict[str, object]:
    return {
        "id": row_id,
        "entity_id": owner.entity_id,
        "document_id": owner.document_id,
        "file_id": owner.file_id,
        "team_id": owner.team_id,
        "kind": draft.kind,
        "ordinal": draft.ordinal,
        "title": draft.title,
        "content": draft.content,
        "content_hash": draft.content_hash,
        "classification": draft.classification,
        "metadata": draft.metadata,
    }
