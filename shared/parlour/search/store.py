"""Finding rows, and the numbers that sessions cite them by, in the database."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypedDict, Unpack
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.search import fusion, recalled_messages
from parlour.search.index.context_rows import vector_literal
from parlour.search.index.embedders import Vector
from parlour.search.recalled_messages import RecalledMessage
from parlour.search.results import SearchResult
from parlour.search.scope import SearchScope

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """A question: its own words, those with the turn before it, and the vectors of both."""

    text: str
    expanded_text: str
    vector: Vector | None
    unexpanded_vector: Vector | None


@dataclass(frozen=True, slots=True)
class ReaderAccess:
    """What the reader may see."""

    clearance: int
    team_id: UUID | None
    sees_all_teams: bool


@dataclass(frozen=True, slots=True)
class AssignedNumber:
    """A row's number in a session whose row is ours until the transaction ends; without a row when it has none of them.

    is_fresh  no number was given out meanwhile that this does not know of; otherwise none is told.
    """

    lease_token: int
    is_fresh: bool
    number: int | None
    row_id: UUID | None


@dataclass(frozen=True, slots=True)
class NumberedSource:
    """The number by which a session cites a row."""

    number: int
    row_id: UUID
    title: str
    locator: str
    content: str


def find_candidates(
    tx: Transaction, *, query: SearchQuery, scope: SearchScope, access: ReaderAccess, depth: int, max_exact_vectors: int
) -> list[fusion.PositionedResult]:
    return tx.all(
        SQL["find_candidates"],
        fusion.PositionedResult,
        own=query.text,
        query=query.expanded_text,
        has_before=query.text.strip() != query.expanded_text,
        vector=query.vector and vector_literal(query.vector.values),
        alone=query.unexpanded_vector and vector_literal(query.unexpanded_vector.values),
        space=query.vector and query.vector.space,
        entity_id=scope.entity_id or scope.project_id,
        project_id=scope.project_id,
        type_id=scope.type_id,
        session_id=scope.session_id,
        is_narrow=scope.is_narrow,
        clearance=access.clearance,
        team_id=access.team_id,
        any_team=access.sees_all_teams,
        depth=depth,
        pool=max(fusion.KEYWORD_POOL, depth),
        few=max_exact_vectors,
        longest=fusion.MAX_QUERY_WORDS,
        k=fusion.RRF_K,
        wording=1.0 if scope.session_id else fusion.KEYWORD_WEIGHT,
        before=fusion.PRECEDING_TURN_WEIGHTS[0],
        long_before=fusion.PRECEDING_TURN_WEIGHTS[1],
        after=fusion.FOLLOWING_TURN_WEIGHTS[0],
        long_after=fusion.FOLLOWING_TURN_WEIGHTS[1],
    )


class RecallLimits(TypedDict):
    """Limits of recall: what the reader may see, which turns and sessions are searched, and how many rows."""

    clearance: int
    since: int
    others: bool
    most: int
    pool: int
    sessions: int


def find_recalled_messages(
    tx: Transaction, session_id: UUID, query: str, vector: Vector | None, **bounds: Unpack[RecallLimits]
) -> list[RecalledMessage]:
    return tx.all(
        SQL["find_recalled_messages"],
        RecalledMessage,
        session_id=session_id,
        query=query,
        vector=vector and vector_literal(vector.values),
        space=vector and vector.space,
        longest=fusion.MAX_QUERY_WORDS,
        meaning=recalled_messages.VECTOR_WEIGHT,
        telling=recalled_messages.KEYWORD_HALF_SCORE,
        anchors=recalled_messages.MAX_ANCHORS,
        **bounds,
    )


def assign_numbers(tx: Transaction, session_id: UUID, rows: Sequence[SearchResult]) -> list[AssignedNumber]:
    """Nothing at all without such a session."""
    return tx.all(
        SQL["assign_numbers"],
        AssignedNumber,
        session_id=session_id,
        row_ids=[row.row_id for row in rows],
        titles=[row.title for row in rows],
        locators=[row.locator for row in rows],
    )


def list_numbered_sources(
    tx: Transaction, session_id: UUID, numbers: Collection[int], clearance: int
) -> list[NumberedSource]:
    return tx.all(
        SQL["list_numbered_sources"],
        NumberedSource,
        session_id=session_id,
        numbers=sorted(numbers),
        clearance=clearance,
    )


def has_text_of_others(tx: Transaction, row_ids: Sequence[UUID]) -> bool:
    return tx.value(SQL["has_text_of_others"], row_ids=list(row_ids)) is not None
