"""Recall compares all older messages of a conversation: by vector, by words, and after a move to another model."""

from decimal import Decimal
from uuid import UUID

import pytest

from parlour.records import backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedders import Vector, embed_query
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.search.recall import recall_messages
from tests.conversation_harness import ConversationHarness, WordEmbedder, text_answer
from tests.integration.search.test_reembedding import Movers

TELLING = "The crane's permit number is KX-4471 and it ends in May."
ASKED = "What was the crane's permit number?"
TURNS = 6


@pytest.fixture
def session(conversation: ConversationHarness) -> UUID:
    """A conversation of twelve messages, all with their rows and vectors."""
    visitor = conversation.create_visitor()
    made = conversation.find_session(visitor)
    for text in (TELLING, *(f"Delivery {number} of gravel came at noon." for number in range(1, TURNS))):
        conversation.send_web(visitor, made, text)
        conversation.model.script = [text_answer("Noted, thank you.")]
        conversation.run_turn()
    spaces = EmbeddingSpaces([PricedEmbedder(WordEmbedder())])
    services = EmbeddingDependencies(
        conversation.database,
        spaces,
        conversation.embedding,
        backfill.run_backfill,
        Decimal(20),
        conversation.clock,
    )
    embedding_job.embed_tenant(services, conversation.tenant_id, lambda: 300.0)
    return made


def found(
    conversation: ConversationHarness, session: UUID, vector: Vector | None, since: int = TURNS + 1, query: str = ASKED
) -> list[str]:
    with conversation.database.transaction(conversation.admin) as tx:
        return [
            row.body
            for row in recall_messages(conversation.admin, tx, session, query=query, vector=vector, before_turn=since)
        ]


def test_the_best_message_is_found_by_vector_and_words_and_by_words_alone(
    conversation: ConversationHarness, session: UUID
) -> None:
    assert found(conversation, session, embed_query(WordEmbedder(), ASKED))[0] == TELLING
    assert found(conversation, session, None) == [TELLING]


def test_a_message_without_shared_words_is_found_by_its_vector(
    conversation: ConversationHarness, session: UUID
) -> None:
    vector = embed_query(WordEmbedder(), TELLING)
    assert found(conversation, session, vector, query="Who knows?")[0] == TELLING


def test_a_message_outside_the_nearest_is_found_by_its_words(
    conversation: ConversationHarness, session: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parlour.search.recall.MAX_CANDIDATES", 1)
    vector = embed_query(WordEmbedder(), "Delivery 3 of gravel came at noon.")
    assert TELLING in found(conversation, session, vector)


def test_messages_that_the_prompt_has_word_for_word_are_not_recalled(
    conversation: ConversationHarness, session: UUID
) -> None:
    vector = embed_query(WordEmbedder(), ASKED)
    assert TELLING not in found(conversation, session, vector, since=1)
    assert found(conversation, session, vector, since=2)[0] == TELLING
    assert not [text for text in found(conversation, session, vector, since=2) if "Delivery" in text]


def test_after_a_move_to_another_model_messages_are_compared_in_its_space(
    conversation: ConversationHarness, session: UUID
) -> None:
    movers = Movers(conversation)
    movers.start()
    movers.run()
    vector = embed_query(movers.new, TELLING)
    assert vector is not None
    assert found(conversation, session, vector, query="Who knows?")[0] == TELLING
