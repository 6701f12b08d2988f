"""The part of the working day in which somebody searches in the console."""

from parlour.records.cards.search_cards import find_related_records, make_cards
from parlour.search.hybrid_search import search
from tests.conversation_harness import ConversationHarness


def search_in_console(desk: ConversationHarness) -> None:
    """A search by words, drawn as cards, and what those are linked to."""
    words = "wind limit of the crane"
    with desk.database.transaction(desk.admin) as tx:
        found = search(desk.admin, tx, query=words, vector=None)
        assert [card.link for card in make_cards(desk.admin, tx, found, words)]
        assert find_related_records(desk.admin, tx, found)
