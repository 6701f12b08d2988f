"""Finding rows: by meaning and by words, merged, in one round trip."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.search import fusion, store
from parlour.search.index.embedders import Vector
from parlour.search.query_expansion import expand_query
from parlour.search.results import SearchResult
from parlour.search.scope import EVERYWHERE, SearchScope

__all__ = ["EVERYWHERE", "Question", "SearchScope", "search"]

MAX_EXACT_VECTORS = 20_000
"""Vectors of a tenant in one space up to which all are compared; above, the index is read
(bench/filtered_search.py)."""

_SEES_EVERY_TEAM = frozenset({"member", "key", "operator"})


@dataclass(frozen=True, slots=True)
class Question:
    """A question in the reader's words, any of which may match.

    vector             of `expand_query(text, previous)`. None: only words count.
    unexpanded_vector  of the text alone, where there is something previous.
    previous           what the same reader wrote before, oldest first.
    """

    text: str
    vector: Vector | None
    unexpanded_vector: Vector | None = None
    previous: Sequence[str] = ()


def search(
    principal: Principal,
    tx: Transaction,
    question: Question,
    *,
    scope: SearchScope = EVERYWHERE,
    limit: int = 6,
    team_id: UUID | None = None,
) -> list[SearchResult]:
    """Return the rows that answer the question best and that the principal may see, best first; one statement.

    A question without a word that is worth searching finds by meaning only. `team_id` is the team on whose behalf is
    searched: its own documents are found, those of other teams are not. Without one, members see every team's
    documents and end users none.
    """
    unexpanded_vector = question.unexpanded_vector if question.previous else None
    expanded = expand_query(question.text, question.previous)
    rows = store.find_candidates(
        tx,
        query=store.SearchQuery(question.text, expanded, question.vector, unexpanded_vector),
        scope=scope,
        access=store.ReaderAccess(principal.clearance, team_id, team_id is None and principal.kind in _SEES_EVERY_TEAM),
        depth=max(fusion.LIST_DEPTH, 2 * limit),
        max_exact_vectors=MAX_EXACT_VECTORS,
    )
    return fusion.fuse(rows, question.text, limit)
