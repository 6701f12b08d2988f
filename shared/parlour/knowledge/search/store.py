"""Finding rows, and the numbers that sessions cite them by, in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.embed import Vector
from parlour.knowledge.index.rows import literal
from parlour.knowledge.search import fusion, recalled
from parlour.knowledge.search.found import Found
from parlour.knowledge.search.recalled import Recalled
from parlour.knowledge.search.scope import Scope

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its own words, those with the turn before it, and the vectors of both."""

    own: str
    words: str
    vector: Vector | None
    alone: Vector | None


@dataclass(frozen=True, slots=True)
class Sight:
    """What the reader may see."""

    clearance: int
    team_id: UUID | None
    any_team: bool


@dataclass(frozen=True, slots=True)
class Numbered:
    """A row's number in a session whose row is ours until the transaction ends; without a row when it has none of them.

    is_fresh  no number was given out meanwhile that this does not know of; otherwise none is told.
    """

    lease_token: int
    is_fresh: bool
    number: int | None
    row_id: UUID | None


@dataclass(frozen=True, slots=True)
class Source:
    """The number by which a session cites a row."""

    number: int
    row_id: UUID
    title: str
    locator: str


def search(tx: Transaction, *, asked: Asked, scope: Scope, sight: Sight, depth: int, few: int) -> list[fusion.Placed]:
    return tx.all(
        SQL["search"],
        fusion.Placed,
        own=asked.own,
        query=asked.words,
        has_before=asked.own.strip() != asked.words,
        vector=asked.vector and literal(asked.vector.values),
        alone=asked.alone and literal(asked.alone.values),
        space=asked.vector and asked.vector.space,
        entity_id=scope.entity_id or scope.project_id,
        project_id=scope.project_id,
        type_id=scope.type_id,
        session_id=scope.session_id,
        is_narrow=scope.is_narrow,
        clearance=sight.clearance,
        team_id=sight.team_id,
        any_team=sight.any_team,
        depth=depth,
        pool=max(fusion.POOL, depth),
        few=few,
        longest=fusion.WORDS,
        k=fusion.K,
        wording=1.0 if scope.session_id else fusion.WORDING,
        before=fusion.BEFORE[0],
        long_before=fusion.BEFORE[1],
        after=fusion.AFTER[0],
        long_after=fusion.AFTER[1],
    )


class Bounds(TypedDict):
    """Limits of recall: what the reader may see, which turns and sessions are searched, and how many rows."""

    clearance: int
    since: int
    others: bool
    most: int
    pool: int
    sessions: int


def recall(
    tx: Transaction, session_id: UUID, query: str, vector: Vector | None, **bounds: Unpack[Bounds]
) -> list[Recalled]:  # fmt: skip
    return tx.all(
        SQL["recall"],
        Recalled,
        session_id=session_id,
        query=query,
        vector=vector and literal(vector.values),
        space=vector and vector.space,
        longest=fusion.WORDS,
        meaning=recalled.MEANING,
        telling=recalled.TELLING,
        anchors=recalled.ANCHORS,
        **bounds,
    )


def number_rows(tx: Transaction, session_id: UUID, rows: Sequence[Found]) -> list[Numbered]:
    """Nothing at all without such a session."""
    return tx.all(
        SQL["number_rows"], Numbered, session_id=session_id, row_ids=[row.row_id for row in rows],
        titles=[row.title for row in rows], locators=[row.locator for row in rows],
    )  # fmt: skip


def known_sources(tx: Transaction, session_id: UUID, clearance: int) -> list[Source]:
    return tx.all(SQL["known_sources"], Source, session_id=session_id, clearance=clearance)
