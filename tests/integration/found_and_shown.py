"""The part of the working day in which somebody searches in the console."""

from parlour.knowledge.cards.cards import cards
from parlour.knowledge.search.search import search
from tests.desk import Desk


def found_and_shown(desk: Desk) -> None:
    """A search by words, drawn as cards."""
    words = "wind limit of the crane"
    with desk.database.transaction(desk.admin) as tx:
        found = search(desk.admin, tx, query=words, vector=None)
        assert [card.link for card in cards(desk.admin, tx, found, words)]
