"""Documents in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


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


def stored_documents(tx: Transaction, keys: Sequence[str]) -> list[StoredDocument]:
    return tx.all(SQL["stored_documents"], StoredDocument, keys=list(keys))


def put_documents(tx: Transaction, rows: Sequence[Mapping[str, object]]) -> None:
    tx.run_many(SQL["put_document"], rows)


def all_documents(tx: Transaction, clearance: int) -> list[WholeDocument]:
    return tx.all(SQL["all_documents"], WholeDocument, clearance=clearance)
