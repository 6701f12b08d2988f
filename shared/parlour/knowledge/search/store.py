"""Finding rows, and the numbers that sessions cite them by, in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.embed import Vector
from parlour.knowledge.index.rows import literal
from parlour.knowledge.search.found import Found

SQL = Queries.beside(__file__)


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
        vector=vector and literal(vector.values),
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
