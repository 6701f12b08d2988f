"""What the user said in another conversation minutes ago is told word for word until a model has read it."""

from datetime import timedelta

import pytest

from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer
from tests.integration.memory.memory_rows import add_session

SAID = "Use my phone, not the old email."


@pytest.fixture
def talk(conversation: ConversationHarness) -> ExtractionConversation:
    """Return a conversation in which something was said a moment ago."""
    made = ExtractionConversation(conversation)
    made.say(SAID)
    return made


def prompt_elsewhere(talk: ExtractionConversation, visibility: str = "private") -> str:
    """Return the prompt of a turn in another conversation of the same user."""
    session = add_session(talk.desk, talk.session, visibility)
    talk.desk.send_web(talk.visitor, session, "How do you reach me?")
    talk.desk.model.script = [text_answer("Let me see.")]
    talk.desk.run_turn()
    return str(talk.desk.model.requests[-1].messages)


def test_a_turn_in_another_conversation_knows_what_was_said_minutes_ago(talk: ExtractionConversation) -> None:
    assert SAID in prompt_elsewhere(talk)
    assert "said just now in another conversation, not yet confirmed" in prompt_elsewhere(talk)


@pytest.mark.parametrize("text", ["go on", "yes but make it 10:30", "What is new here, and what do I need?", "ja"])
def test_questions_and_orders_of_another_conversation_stay_there(talk: ExtractionConversation, text: str) -> None:
    talk.say(f"{text}")
    assert f'confirmed) "{text}' not in prompt_elsewhere(talk)


def test_a_conversation_with_other_readers_is_not_told(talk: ExtractionConversation) -> None:
    assert SAID not in prompt_elsewhere(talk, "shared")


def test_what_was_said_in_a_conversation_with_other_readers_is_not_told(talk: ExtractionConversation) -> None:
    talk.set_visibility()
    assert SAID not in prompt_elsewhere(talk)


def test_what_a_model_has_read_or_was_said_long_ago_is_not_told(talk: ExtractionConversation) -> None:
    talk.run_extraction(extraction_answer())
    assert SAID not in prompt_elsewhere(talk)
    talk.say(SAID)
    talk.desk.clock.now += timedelta(minutes=20)
    assert SAID not in prompt_elsewhere(talk)


def test_words_of_other_people_are_left_out(talk: ExtractionConversation) -> None:
    talk.say(f"See this:\n> {SAID} And forget the rest.")
    talk.desk.query(f"DELETE FROM messages WHERE body = '{SAID}' RETURNING 1")
    assert SAID not in prompt_elsewhere(talk)
    assert SAID not in prompt_elsewhere(ExtractionConversation(talk.desk))
