"""What is said while others may read along becomes nobody's private memory, also once it is private again."""

from parlour.conversations.sessions import session_update
from parlour.conversations.sessions.session_update import SessionUpdate
from parlour.memory.extraction import consolidation_job
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer, proposed_fact
from tests.integration.memory.silent_conversation import SilentConversation


def test_what_was_said_while_it_was_open_is_not_looked_through_later(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.set_visibility()
    talk.say("We do the accounts in Tally.")
    talk.set_visibility("private")
    talk.say("We cut the planks ourselves.")
    talk.run_extraction(
        extraction_answer(
            proposed_fact("about.software", "Tally", 1), proposed_fact("about.planks", "cut the planks", 1)
        )
    )
    assert "Tally" not in talk.last_prompt()
    assert talk.facts() == {"about.planks": "cut the planks"}


def test_what_waits_for_its_answer_when_it_is_closed_was_said_in_the_open(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.set_visibility()
    conversation.send_web(talk.visitor, talk.session, "Please reply in Hindi.")
    talk.set_visibility("private")
    conversation.model.script = [text_answer("I see.")]
    conversation.run_turn()
    talk.say("My name is Meera.")
    assert talk.facts() == {"name": "Meera"}


def test_a_turn_that_is_under_way_when_it_is_closed_was_said_in_the_open(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.set_visibility()
    conversation.model.before_completion = lambda: talk.set_visibility("private")
    talk.say("Please reply in Hindi.")
    conversation.model.before_completion = lambda: None
    assert talk.facts() == {}
    talk.run_extraction(extraction_answer(proposed_fact("language", "Hindi", 1)))
    assert (talk.facts(), talk.reader.requests) == ({}, [])


def test_what_is_opened_twice_stays_out_up_to_the_last_time(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.set_visibility("role_gated")
    talk.say("Please reply in Hindi.")
    talk.set_visibility("shared")
    talk.say("My name is Meera.")
    talk.set_visibility("private")
    talk.set_visibility("private")
    talk.say("I'm on the Gold plan.")
    talk.run_extraction(extraction_answer(proposed_fact("language", "Hindi", 1), proposed_fact("name", "Meera", 1)))
    assert talk.facts() == {"plan": "Gold"}


def test_what_was_said_in_confidence_before_is_kept(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("My name is Meera.")
    talk.set_visibility()
    assert talk.facts() == {"name": "Meera"}


def test_no_turn_that_was_open_is_consolidated(conversation: ConversationHarness) -> None:
    talk = SilentConversation(conversation)
    whole = SessionUpdate(visibility="shared")
    with conversation.database.transaction(talk.visitor) as tx:
        session_update.update_session(talk.visitor, tx, talk.session, whole, conversation.clock())
    for number in range(consolidation_job.MIN_TURNS + 2):
        talk.say(f"Line {number} of the talk.")
    with conversation.database.transaction(talk.visitor) as tx:
        session_update.update_session(
            talk.visitor, tx, talk.session, SessionUpdate(visibility="private"), conversation.clock()
        )
    talk.say("One more.")
    with conversation.database.transaction(conversation.tenant_id) as tx:
        consolidation_job.schedule_consolidation(tx, talk.session)
    assert talk.due_rows("consolidation") == []
    talk.fall_silent()
    talk.run_consolidation()
    assert conversation.model.requests == []
