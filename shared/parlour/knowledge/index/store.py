"""Searchable rows and their vectors in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.rows import RowDraft, StoredRow, literal

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Owner:
    """What rows belong to: a document or a file (perhaps about an entity), or an entity itself. `team_id`: the team
    whose own it is; None is everybody's."""

    document_id: UUID | None
    entity_id: UUID | None
    file_id: UUID | None = None
    team_id: UUID | None = None


def hold_tenant(tx: Transaction) -> None:
    """Queue up behind whoever writes this tenant's knowledge."""
    tx.run(SQL["hold_tenant"])


def document_rows(tx: Transaction, ids: Sequence[UUID], space: str) -> list[StoredRow]:
    return tx.all(SQL["document_rows"], StoredRow, ids=list(ids), space=space)


def entity_rows(tx: Transaction, ids: Sequence[UUID], space: str) -> list[StoredRow]:
    return tx.all(SQL["entity_rows"], StoredRow, ids=list(ids), space=space)


def add_rows(
    tx: Transaction, rows: Sequence[tuple[UUID, Owner, RowDraft]], now: datetime, *, pending: bool = False
) -> None:
    more = {"now": now, "pending": pending}
    tx.run_many(SQL["add_row"], [_row(row_id, owner, draft) | more for row_id, owner, draft in rows])


def change_rows(tx: Transaction, rows: Sequence[tuple[UUID, Owner, RowDraft]]) -> None:
    tx.run_many(SQL["change_row"], [_row(row_id, owner, draft) for row_id, owner, draft in rows])


def remove_rows(tx: Transaction, ids: Sequence[UUID]) -> None:
    if ids:
        tx.run(SQL["remove_rows"], ids=list(ids))


def add_vectors(tx: Transaction, space: str, vectors: Mapping[UUID, Sequence[float]]) -> None:
    rows = [{"row_id": row_id, "space": space, "vector": literal(values)} for row_id, values in vectors.items()]
    tx.run_many(SQL["add_vector"], rows)


def _row(row_id: UUID, owner: Owner, draft: RowDraft) -> dict[str, object]:
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
