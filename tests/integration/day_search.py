"""The part of the working day in which somebody searches in the console."""

from parlour.records.cards.search_cards import find_related_records, make_cards
from parlour.search.hybrid_search import Question, search
from tests.conversation_harness import ConversationHarness


def search_in_console(conversation: ConversationHarness) -> None:
    """A search by words, drawn as cards, and what those are linked to."""
    words = "wind limit of the crane"
    with conversation.database.transaction(conversation.admin) as tx:
        found = search(conversation.admin, tx, Question(text=words, vector=None))
        assert [card.link for card in make_cards(conversation.admin, tx, found, words)]
        assert find_related_records(conversation.admin, tx, found)
