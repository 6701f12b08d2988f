"""The room's only way to the database: records of its rows and the statements of queries.sql."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.embed import Vector
from parlour.knowledge.found import Found
from parlour.knowledge.rows import RowDraft, StoredRow

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class EntityId:
    """An entity's id with the type and key it was asked for by."""

    id: UUID
    type: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredEntity:
    """An entity as it is."""

    id: UUID
    type: str
    key: str
    name: str
    properties: JsonObject
    classification: int
    deleted: bool


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


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document's id, key and the hash of what it was made from."""

    id: UUID
    key: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """A document with its text, and the entity it is about, if any."""

    key: str
    title: str
    kind: str
    content: str
    classification: int
    metadata: JsonObject
    entity_type: str | None
    entity_key: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """A session whose row is ours until the transaction ends."""

    id: UUID
    lease_token: int


@dataclass(frozen=True, slots=True)
class Source:
    """The number by which a session cites a row."""

    number: int
    row_id: UUID
    title: str
    locator: str


@dataclass(frozen=True, slots=True)
class Owner:
    """What rows belong to: a document (perhaps about an entity), or an entity itself."""

    document_id: UUID | None
    entity_id: UUID | None


def hold_tenant(tx: Transaction) -> None:
    """Queue up behind whoever writes this tenant's knowledge."""
    tx.run(SQL["hold_tenant"])


def entity_ids(tx: Transaction, types: Sequence[str], keys: Sequence[str]) -> list[EntityId]:
    return tx.all(SQL["entity_ids"], EntityId, types=list(types), keys=list(keys))


def stored_entities(tx: Transaction, types: Sequence[str], keys: Sequence[str]) -> list[StoredEntity]:
    return tx.all(SQL["stored_entities"], StoredEntity, types=list(types), keys=list(keys))


def put_entities(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["put_entity"], rows)


def all_entities(tx: Transaction, clearance: int) -> list[StoredEntity]:
    return tx.all(SQL["all_entities"], StoredEntity, clearance=clearance)


def stored_edges(tx: Transaction, source_ids: Sequence[UUID]) -> list[StoredEdge]:
    return tx.all(SQL["stored_edges"], StoredEdge, source_ids=list(source_ids))


def add_edges(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["add_edge"], rows)


def all_edges(tx: Transaction, clearance: int) -> list[NamedEdge]:
    return tx.all(SQL["all_edges"], NamedEdge, clearance=clearance)


def stored_documents(tx: Transaction, keys: Sequence[str]) -> list[StoredDocument]:
    return tx.all(SQL["stored_documents"], StoredDocument, keys=list(keys))


def put_documents(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["put_document"], rows)


def all_documents(tx: Transaction, clearance: int) -> list[WholeDocument]:
    return tx.all(SQL["all_documents"], WholeDocument, clearance=clearance)


def document_rows(tx: Transaction, ids: Sequence[UUID], space: str) -> list[StoredRow]:
    return tx.all(SQL["document_rows"], StoredRow, ids=list(ids), space=space)


def entity_rows(tx: Transaction, ids: Sequence[UUID], space: str) -> list[StoredRow]:
    return tx.all(SQL["entity_rows"], StoredRow, ids=list(ids), space=space)


def add_rows(tx: Transaction, rows: Sequence[tuple[UUID, Owner, RowDraft]], now: datetime) -> None:
    tx.run_many(SQL["add_row"], [_row(row_id, owner, draft) | {"now": now} for row_id, owner, draft in rows])


def change_rows(tx: Transaction, rows: Sequence[tuple[UUID, Owner, RowDraft]]) -> None:
    tx.run_many(SQL["change_row"], [_row(row_id, owner, draft) for row_id, owner, draft in rows])


def remove_rows(tx: Transaction, ids: Sequence[UUID]) -> None:
    if ids:
        tx.run(SQL["remove_rows"], ids=list(ids))


def add_vectors(tx: Transaction, space: str, vectors: Mapping[UUID, Sequence[float]]) -> None:
    rows = [{"row_id": row_id, "space": space, "vector": _literal(values)} for row_id, values in vectors.items()]
    tx.run_many(SQL["add_vector"], rows)


def search(
    tx: Transaction,
    *,
    query: str,
    vector: Vector | None,
    entity_id: UUID | None,
    clearance: int,
    depth: int,
    k: int,
    most: int,
) -> list[Found]:
    return tx.all(
        SQL["search"],
        Found,
        query=query,
        vector=vector and _literal(vector.values),
        space=vector and vector.space,
        entity_id=entity_id,
        clearance=clearance,
        depth=depth,
        k=k,
        most=most,
    )


def hold_session(tx: Transaction, session_id: UUID) -> Held | None:
    return tx.first(SQL["hold_session"], Held, session_id=session_id)


def number_rows(tx: Transaction, session_id: UUID, rows: Sequence[Found]) -> list[Source]:
    return tx.all(
        SQL["number_rows"],
        Source,
        session_id=session_id,
        row_ids=[row.row_id for row in rows],
        titles=[row.title for row in rows],
        locators=[row.locator for row in rows],
    )


def known_sources(tx: Transaction, session_id: UUID) -> list[Source]:
    return tx.all(SQL["known_sources"], Source, session_id=session_id)


def _row(row_id: UUID, owner: Owner, draft: RowDraft) -> dict[str, object]:
    return {
        "id": row_id,
        "entity_id": owner.entity_id,
        "document_id": owner.document_id,
        "kind": draft.kind,
        "ordinal": draft.ordinal,
        "title": draft.title,
        "content": draft.content,
        "content_hash": draft.content_hash,
        "classification": draft.classification,
        "metadata": draft.metadata,
    }


def _literal(values: Sequence[float]) -> str:
    """A vector as pgvector reads it."""
    return f"[{','.join(map(str, values))}]"
