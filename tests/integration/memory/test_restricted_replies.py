"""What a reply was drawn from may be closed later: memory does not read it then, nor tell what was noted of it."""

from uuid import UUID

import pytest

from parlour.memory.inspection import store
from tests.conversation_harness import ConversationHarness, search_call, text_answer
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer

CITED = " ".join(f"[{n}]" for n in range(1, 9))


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> ExtractionConversation:
    """A question of the user's, and one whose reply cites the knowledge."""
    made = ExtractionConversation(conversation)
    made.say("The scaffold of the tower was tied yesterday, the foreman said so to me.")
    made.say(
        "How wide is the crack at C4?",
        search_call("crack width C4"),
        text_answer(f"It is very wide, rebar bare {CITED}."),
    )
    return made


def close(conversation: ConversationHarness) -> None:
    conversation.query("UPDATE documents SET classification = 3 RETURNING 1")
    conversation.query("UPDATE context_rows SET classification = 3 WHERE document_id IS NOT NULL RETURNING 1")


def test_a_reply_that_is_closed_is_not_read(web_conversation: ExtractionConversation) -> None:
    close(web_conversation.desk)
    web_conversation.run_extraction(extraction_answer())
    assert "How wide is the crack" in web_conversation.last_prompt()
    assert "rebar" not in web_conversation.last_prompt()


def test_an_episode_is_of_every_turn_whose_reply_has_its_words(web_conversation: ExtractionConversation) -> None:
    desk = web_conversation.desk
    told = "The scaffold of the tower was tied yesterday; rebar bare."
    web_conversation.run_extraction(extraction_answer(episodes=[(told, [1])]))
    assert web_conversation.episodes() == [(told, 0)]
    assert known(desk, web_conversation, web_conversation.visitor.clearance) == [told]
    close(desk)
    assert known(desk, web_conversation, web_conversation.visitor.clearance) == []


def test_an_episode_of_a_higher_level_is_not_shown_to_its_own_user_who_lost_it(
    web_conversation: ExtractionConversation,
) -> None:
    told = "The scaffold of the tower was tied yesterday."
    web_conversation.run_extraction(extraction_answer(episodes=[(told, [1])]))
    web_conversation.desk.query("UPDATE context_rows SET classification = 3 WHERE kind = 'episode' RETURNING 1")
    assert known(web_conversation.desk, web_conversation, web_conversation.visitor.clearance) == []
    assert known(web_conversation.desk, web_conversation, 3) == [told]


def known(conversation: ConversationHarness, web_conversation: ExtractionConversation, clearance: int) -> list[str]:
    """What the user is shown of what they lived through."""
    user: UUID = web_conversation.user
    with conversation.database.transaction(conversation.tenant_id) as tx:
        return [one.text for one in store.list_episodes(tx, user, None, is_own=True, clearance=clearance, limit=50)]
