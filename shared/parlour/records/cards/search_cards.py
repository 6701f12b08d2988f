"""Cards for the rows of one search."""

from collections.abc import Sequence

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records.cards import store
from parlour.records.cards.card import RelatedRecord, SearchCard, make_card
from parlour.search.results import SearchResult

MAX_RELATED = 6
"""Records beside a page of results."""


def make_cards(principal: Principal, tx: Transaction, found: Sequence[SearchResult], query: str) -> list[SearchCard]:
    """Return a card for each row, in the order given; a row that is gone or above the clearance by now has none."""
    if not found:
        return []
    origins = {one.row_id: one for one in store.find_origins(tx, [row.row_id for row in found], principal.clearance)}
    best = max(row.score for row in found)
    return [make_card(row, origins[row.row_id], query, best) for row in found if row.row_id in origins]


def find_related_records(
    principal: Principal, tx: Transaction, found: Sequence[SearchResult], limit: int = MAX_RELATED
) -> list[RelatedRecord]:
    """Return the records that those found are linked to and that are not among them, the closest first."""
    return store.find_related_records(tx, found, principal.clearance, limit) if found else []
