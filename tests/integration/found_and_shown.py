"""The part of the working day in which somebody searches in the console."""

from parlour.knowledge.cards.cards import make_cards, find_related_records
from parlour.knowledge.search.search import search
from tests.desk import ConversationHarness


def search_in_console(desk: ConversationHarness) -> None:
    """A search by words, drawn as cards, and what those are linked to."""
    words = "wind limit of the crane"
    with desk.database.transaction(desk.admin) as tx:
        found = search(desk.admin, tx, query=words, vector=None)
        assert [card.link for card in make_cards(desk.admin, tx, found, words)]
        assert find_related_records(desk.admin, tx, found)
