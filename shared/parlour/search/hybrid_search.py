"""Finding rows: by meaning and by words, merged, in one round trip."""

from collections.abc import Sequence
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.search import fusion, store
from parlour.search.index.embedders import Vector
from parlour.search.query_expansion import expand_query
from parlour.search.results import SearchResult
from parlour.search.scope import EVERYWHERE, SearchScope

__all__ = ["EVERYWHERE", "SearchScope", "search"]

MAX_EXACT_VECTORS = 20_000
"""Vectors of a tenant in one space up to which all are compared; above, the index is read (bench/filtered_search.py)."""

_SEES_EVERY_TEAM = frozenset({"member", "key", "operator"})


def search(
    principal: Principal,
    tx: Transaction,
    *,
    query: str,
    vector: Vector | None,
    unexpanded_vector: Vector | None = None,
    scope: SearchScope = EVERYWHERE,
    previous: Sequence[str] = (),
    limit: int = 6,
    team_id: UUID | None = None,
) -> list[SearchResult]:
    """The `most` best rows that the principal is cleared to see, best first; one statement.

    `query` is a question in the reader's words: any of its words may match. `previous`: what the same reader wrote
    before, oldest first. `vector` is that of `question.expand(query, previous)`, `alone` that of the query when there
    is something previous. Without a `vector` only words count, and a question without a word that is worth searching
    finds by meaning only. `team_id`: the team on whose behalf is searched: its own documents are found, those of
    other teams are not. Without one, members see every team's, end users none.
    """
    rows = store.find_candidates(
        tx,
        query=store.SearchQuery(query, expand_query(query, previous), vector, unexpanded_vector if previous else None),
        scope=scope,
        access=store.ReaderAccess(principal.clearance, team_id, team_id is None and principal.kind in _SEES_EVERY_TEAM),
        depth=max(fusion.LIST_DEPTH, 2 * limit),
        max_exact_vectors=MAX_EXACT_VECTORS,
    )
    return fusion.fuse(rows, query, limit)
