"""Entities and edges in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

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
