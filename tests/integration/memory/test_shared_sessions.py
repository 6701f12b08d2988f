"""What is said while others may read along becomes nobody's private memory, also once it is private again."""

from parlour.conversations.sessions import session_update
from parlour.conversations.sessions.session_update import SessionUpdate
from parlour.memory.consolidation import silence_rules
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.memory.extraction_harness import ExtractionConversation, extraction_answer, proposed_fact
from tests.integration.memory.silent_conversation import SilentConversation


def test_what_was_said_while_it_was_open_is_not_looked_through_later(desk: ConversationHarness) -> None:
    talk = ExtractionConversation(desk)
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


def test_what_waits_for_its_answer_when_it_is_closed_was_said_in_the_open(desk: ConversationHarness) -> None:
    talk = ExtractionConversation(desk)
    talk.set_visibility()
    desk.send_web(talk.visitor, talk.session, "Please reply in Hindi.")
    talk.set_visibility("private")
    desk.model.script = [text_answer("I see.")]
    desk.run_turn()
    talk.say("My name is Meera.")
    assert talk.facts() == {"name": "Meera"}


def test_a_turn_that_is_under_way_when_it_is_closed_was_said_in_the_open(desk: ConversationHarness) -> None:
    talk = ExtractionConversation(desk)
    talk.set_visibility()
    desk.model.before_completion = lambda: talk.set_visibility("private")
    talk.say("Please reply in Hindi.")
    desk.model.before_completion = lambda: None
    assert talk.facts() == {}
    talk.run_extraction(extraction_answer(proposed_fact("language", "Hindi", 1)))
    assert (talk.facts(), talk.reader.requests) == ({}, [])


def test_what_is_opened_twice_stays_out_up_to_the_last_time(desk: ConversationHarness) -> None:
    talk = ExtractionConversation(desk)
    talk.set_visibility("role_gated")
    talk.say("Please reply in Hindi.")
    talk.set_visibility("shared")
    talk.say("My name is Meera.")
    talk.set_visibility("private")
    talk.set_visibility("private")
    talk.say("I'm on the Gold plan.")
    talk.run_extraction(extraction_answer(proposed_fact("language", "Hindi", 1), proposed_fact("name", "Meera", 1)))
    assert talk.facts() == {"plan": "Gold"}


def test_what_was_said_in_confidence_before_is_kept(desk: ConversationHarness) -> None:
    talk = ExtractionConversation(desk)
    talk.say("My name is Meera.")
    talk.set_visibility()
    assert talk.facts() == {"name": "Meera"}


def test_no_turn_that_was_open_is_consolidated(desk: ConversationHarness) -> None:
    talk = SilentConversation(desk)
    whole = SessionUpdate(visibility="shared")
    with desk.database.transaction(talk.visitor) as tx:
        session_update.update_session(talk.visitor, tx, talk.session, whole, desk.clock())
    for number in range(silence_rules.MIN_TURNS + 2):
        talk.say(f"Line {number} of the talk.")
    with desk.database.transaction(talk.visitor) as tx:
        session_update.update_session(talk.visitor, tx, talk.session, SessionUpdate(visibility="private"), desk.clock())
    talk.say("One more.")
    with desk.database.transaction(desk.tenant_id) as tx:
        silence_rules.schedule_consolidation(tx, talk.session)
    assert talk.due_rows("consolidation") == []
    talk.fall_silent()
    talk.run_consolidation()
    assert desk.model.requests == []
