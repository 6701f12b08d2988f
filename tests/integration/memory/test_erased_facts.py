"""What somebody had forgotten stays so, whoever reads the old words once more; "forget that" is what was said last."""

from datetime import timedelta

from parlour.infra.ids import uuid7
from tests.conversation_harness import ConversationHarness
from tests.integration.memory.extraction_harness import (
    ExtractionConversation,
    extraction_answer,
    proposed_fact,
    second_answers,
)


def test_words_from_before_everything_was_forgotten_bring_nothing_back(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("We do the accounts of the shop in Tally, by the way.")
    conversation.clock.now += timedelta(minutes=1)
    talk.say("Please forget everything.")
    conversation.clock.now += timedelta(minutes=1)
    talk.say("The shop's payroll is done in Zoho.")
    talk.run_extraction(
        extraction_answer(proposed_fact("about.software", "Tally", 1), proposed_fact("about.payroll", "Zoho", 3))
    )
    assert talk.facts() == {"about.payroll": "Zoho"}
    assert ("about.software", "older") in talk.decisions()


def test_a_fact_that_was_forgotten_is_not_made_anew_by_its_own_words(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    message = talk.say("I'm on the Gold plan.")
    conversation.query(
        "INSERT INTO fact_decisions (tenant_id, id, user_id, binding_id, session_id, key, origin, decision,"
        " message_ids,"
        f" decided_at) SELECT tenant_id, '{uuid7(conversation.clock())}', user_id, binding_id, session_id, 'plan',"
        " 'stated', 'erased',"
        f" message_ids, now() FROM facts WHERE '{message}' = ANY(message_ids) RETURNING 1"
    )
    conversation.query("DELETE FROM facts RETURNING 1")
    talk.run_extraction(
        extraction_answer(proposed_fact("plan", "Gold", 1), proposed_fact("preference.metal", "Gold", 1)),
        second_answers("supports"),
    )
    assert talk.facts() == {}
    talk.say("I'm on the Gold plan.")
    assert talk.facts() == {"plan": "Gold"}


def test_forget_that_is_what_was_said_just_now(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("I'm on the Gold plan. Please reply in Hindi.")
    talk.say("Please create a task for the crane.")
    talk.say("Forget that.")
    assert set(talk.facts()) == {"plan", "language"}
    talk.say("My name is Meera.")
    talk.say("Please forget that.")
    assert set(talk.facts()) == {"plan", "language"}


def test_forget_everything_twice_in_a_turn_of_much_that_is_known(conversation: ConversationHarness) -> None:
    talk = ExtractionConversation(conversation)
    talk.say("My name is Meera.")
    conversation.query(
        "INSERT INTO facts (tenant_id, id, scope, user_id, binding_id, key, value, confidence, origin, valid_from,"
        " last_confirmed_at, created_at)"
        " SELECT tenant_id, gen_random_uuid(), scope, user_id, binding_id, 'about.k' || n, 'v' || n, 0.9, 'stated',"
        " valid_from, last_confirmed_at, created_at FROM facts, generate_series(1, 150) n RETURNING 1"
    )
    conversation.clock.now += timedelta(minutes=1)
    conversation.send_web(talk.visitor, talk.session, "Forget everything.")
    talk.say("Please forget everything you know about me.")
    assert talk.facts() == {}


def test_the_same_value_read_late_in_an_old_message_does_not_reach_back_into_the_time_of_another(
    conversation: ConversationHarness,
) -> None:
    talk = ExtractionConversation(conversation)
    for plan in ("Gold", "Silver", "Gold"):
        talk.say(f"I'm on the {plan} plan.")
        conversation.clock.now += timedelta(days=1)
    talk.run_extraction(extraction_answer(proposed_fact("plan", "Gold", 1)))
    ((overlaps,),) = conversation.query(
        "SELECT count(*) FROM facts a JOIN facts b ON a.id <> b.id AND a.key = b.key"
        " WHERE tstzrange(a.valid_from, a.valid_until) && tstzrange(b.valid_from, b.valid_until)"
    )
    assert overlaps == 0
