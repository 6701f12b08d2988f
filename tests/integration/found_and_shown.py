"""The part of the working day in which somebody searches in the console."""

from parlour.knowledge.cards.cards import cards, related
from parlour.knowledge.search.search import search
from tests.desk import Desk


def found_and_shown(desk: Desk) -> None:
    """A search by words, drawn as cards, and what those are linked to."""
    words = "wind limit of the crane"
    with desk.database.transaction(desk.admin) as tx:
        found = search(desk.admin, tx, query=words, vector=None)
        assert [card.link for card in cards(desk.admin, tx, found, words)]
        assert related(desk.admin, tx, found)
