"""Cards for the rows of one search."""

from collections.abc import Sequence

from parlour.infra.postgres import Transaction
from parlour.knowledge.cards import store
from parlour.knowledge.cards.card import Card, Related, card
from parlour.knowledge.search.found import Found
from parlour.principal import Principal

MOST_RELATED = 6
"""Records beside a page of results."""


def cards(principal: Principal, tx: Transaction, found: Sequence[Found], query: str) -> list[Card]:
    """A card for each row, in the order given; a row that is gone meanwhile, or above the clearance, has none."""
    if not found:
        return []
    origins = {one.row_id: one for one in store.origins(tx, [row.row_id for row in found], principal.clearance)}
    best = max(row.score for row in found)
    return [card(row, origins[row.row_id], query, best) for row in found if row.row_id in origins]


def related(principal: Principal, tx: Transaction, found: Sequence[Found], most: int = MOST_RELATED) -> list[Related]:
    """The records that those found are linked to and that are not among them, the closest first."""
    return store.related(tx, found, principal.clearance, most) if found else []
