"""A long conversation gets a summary after the turn, in time for the cut that needs it, and goes on without one."""

import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.memory import job_scheduling
from parlour.memory.summaries.summary_job import FIRST_RETRY_DELAY
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from tests.conversation_harness import ConversationHarness, search_call, text_answer
from tests.integration.memory.long_conversation import LongConversation, summary_answer

TEXT = "The user asks about one tower after the other, and each stands."


@pytest.fixture
def web_conversation(conversation: ConversationHarness) -> LongConversation:
    return LongConversation(conversation)


def orders(conversation: ConversationHarness) -> list[str]:
    return [str(body["kind"]) for body, _ in conversation.memory.sent]


def test_it_is_wanted_after_nine_turns_and_not_before(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(8)
    assert "summary" not in orders(web_conversation.desk)
    assert not web_conversation.due_rows()
    web_conversation.run_turns(1, first=9)
    assert orders(web_conversation.desk).count("summary") == 1
    assert web_conversation.due_rows()


def test_it_is_there_for_the_cut_and_stays_until_the_next_one(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    web_conversation.run_summary_job(summary_answer(TEXT, kept_message_ids=[1, 2], dropped_message_ids=[3]))
    assert web_conversation.versions() == [(1, 6, TEXT)]
    assert not web_conversation.due_rows()
    assert TEXT not in web_conversation.run_turns(2, first=10), "nothing was cut yet"
    cut = web_conversation.run_turns(1, first=12)
    assert TEXT in cut
    assert "What of tower 6?" not in cut
    assert "What of tower 7?" in cut
    web_conversation.run_summary_job(summary_answer("Another one."))
    assert TEXT in web_conversation.run_turns(1, first=13), "its bytes change at a cut alone"
    assert web_conversation.explain_prompt()["cache_miss"] is None


def test_it_goes_on_from_the_last_one_and_reads_only_what_is_new(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    web_conversation.run_summary_job(summary_answer(TEXT))
    web_conversation.run_turns(6, first=10)
    web_conversation.run_summary_job(summary_answer("All towers stand."))
    asked = web_conversation.summariser_prompt()
    assert TEXT in asked
    assert "tower 6?" not in asked
    assert all(f"What of tower {n}?" in asked for n in range(7, 13))
    assert [row[:2] for row in web_conversation.versions()] == [(1, 6), (2, 12)]


def test_a_reply_that_was_stopped_before_it_was_sent_was_not_said(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    for turn, channel in ((2, "whatsapp"), (3, "web")):
        web_conversation.desk.query(f"UPDATE turns SET state = 'stopped' WHERE number = {turn} RETURNING id")
        web_conversation.desk.query(
            f"UPDATE messages SET channel = '{channel}' WHERE body = 'Tower {turn} stands.' RETURNING id"
        )
    web_conversation.run_summary_job(summary_answer(TEXT))
    asked = web_conversation.summariser_prompt()
    assert "What of tower 2?" in asked
    assert "Tower 2 stands." not in asked
    assert "Tower 3 stands." in asked


def test_what_it_lost_is_kept_word_for_word_and_told_beside_it(web_conversation: LongConversation) -> None:
    web_conversation.ask("My policy is PX-48213 and I paid Rs 45,000.", text_answer("I will call you on Friday."))
    web_conversation.run_turns(8, first=2)
    web_conversation.run_summary_job(summary_answer("The user has the policy PX-48213."))
    assert web_conversation.key_details() == [
        "I will call you on Friday.",
        "My policy is PX-48213 and I paid Rs 45,000.",
    ]
    cut = web_conversation.run_turns(3, first=10)
    assert "- you: I will call you on Friday." in cut
    assert "Rs 45,000" in cut


def test_what_a_later_one_loses_is_told_again_and_what_it_has_is_not(web_conversation: LongConversation) -> None:
    web_conversation.ask("My policy is PX-48213.")
    web_conversation.run_turns(8, first=2)
    web_conversation.run_summary_job(summary_answer("The user has the policy PX-48213."))
    assert not web_conversation.key_details()
    web_conversation.run_turns(6, first=10)
    web_conversation.run_summary_job(summary_answer("Towers stand."))
    assert web_conversation.key_details() == ["My policy is PX-48213."]
    web_conversation.run_turns(6, first=16)
    web_conversation.run_summary_job(summary_answer("The policy is PX-48213, and towers stand."))
    assert not web_conversation.key_details()


@pytest.mark.parametrize("answer", ["no JSON", '{"summary": "They owe Rs 9,99,000."}', ProviderUnavailable("away")])
def test_without_an_answer_that_holds_the_recap_stays_and_the_next_try_waits(
    web_conversation: LongConversation, answer: str | Exception
) -> None:
    web_conversation.run_turns(9)
    web_conversation.run_summary_job(*[answer] * 4)
    assert not web_conversation.versions()
    ((due,),) = web_conversation.due_rows()
    cut = web_conversation.run_turns(3, first=10)
    assert "Earlier in this conversation, shortened:" in cut
    assert web_conversation.due_rows() == [(due,)], "nobody asks again for it before its time"
    assert web_conversation.desk.query("SELECT failures FROM work_due WHERE kind = 'summary'") == [(1,)]


def test_a_cut_waits_for_one_that_is_under_way_and_not_for_ever(web_conversation: LongConversation) -> None:
    assert "What of tower 1?" in web_conversation.run_turns(14), "it has been wanted since the ninth turn"
    cut = web_conversation.run_turns(3, first=15)
    assert "shortened:" in cut


def test_without_a_model_what_must_survive_is_kept_beside_the_recap(web_conversation: LongConversation) -> None:
    web_conversation.ask("My policy is PX-48213.", text_answer("I will call you on Friday."))
    web_conversation.run_turns(8, first=2)
    web_conversation.run_summary_job(models={})
    assert [row[:2] for row in web_conversation.versions()] == [(1, 6)]
    assert [text for _, _, text in web_conversation.versions()] == [""]
    assert web_conversation.key_details() == ["I will call you on Friday.", "My policy is PX-48213."]
    cut = web_conversation.run_turns(3, first=10)
    assert "PX-48213" in cut
    assert "summarised" not in cut
    assert "shortened:" in cut


def test_it_rests_on_what_its_turns_were_drawn_from_and_goes_with_it(web_conversation: LongConversation) -> None:
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    web_conversation.ask(
        "How wide is the crack at C4?", search_call("crack width C4"), text_answer(f"0.35 mm wide {numbers}.")
    )
    web_conversation.run_turns(8, first=2)
    web_conversation.run_summary_job(summary_answer("The crack at C4 is 0.35 mm wide."))
    web_conversation.run_turns(2, first=10)
    assert "0.35 mm wide" in web_conversation.run_turns(1, first=12)
    ((document,),) = web_conversation.desk.query(
        "SELECT c.document_id FROM citations c WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )
    web_conversation.desk.query(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    web_conversation.desk.query(
        f"UPDATE context_rows SET classification = 3 WHERE document_id = '{document}' RETURNING 1"
    )
    closed = web_conversation.run_turns(1, first=13)
    assert "0.35 mm" not in closed
    assert WITHHELD_TEXT in closed
    assert web_conversation.explain_prompt()["refresh_causes"] == ["classification"]
    assert web_conversation.due_rows(), "another one is wanted"
    web_conversation.run_summary_job(summary_answer("The user asked how wide the crack at C4 is."))
    assert "0.35 mm" not in web_conversation.summariser_prompt()
    assert "How wide is the crack at C4?" in web_conversation.summariser_prompt(), "what the user wrote stays"
    again = web_conversation.run_turns(1, first=14)
    assert "The user asked how wide the crack at C4 is." in again
    assert WITHHELD_TEXT not in again


def test_an_operator_sees_where_it_comes_from(web_conversation: LongConversation) -> None:
    web_conversation.ask("My policy is PX-48213.")
    web_conversation.run_turns(8, first=2)
    web_conversation.run_summary_job(summary_answer(TEXT))
    web_conversation.run_turns(3, first=10)
    told = [one for one in web_conversation.explain_prompt()["candidates"] if one["kind"] == "summary"]
    assert {"summaries", "messages"} == {one["source"]["table"] for one in told}
    assert all(one["is_included"] for one in told)


def test_it_changes_the_notes_of_the_agent(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    add = {"op": "add", "item": {"kind": "task", "title": "Look at tower 3", "status": "active"}}
    web_conversation.run_summary_job(
        summary_answer(TEXT, agent_state_item_updates=[add, {"op": "update", "id": "nobody", "patch": {}}])
    )
    ((state,),) = web_conversation.desk.query(
        f"SELECT state FROM agent_states WHERE session_id = '{web_conversation.session}'"
    )
    assert "Look at tower 3" in str(state)
    web_conversation.run_turns(6, first=10)
    web_conversation.run_summary_job(summary_answer(TEXT))
    assert "Look at tower 3" in web_conversation.summariser_prompt(), "it is given them to go by"


def test_two_writers_do_not_write_the_same(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    web_conversation.summariser.before_completion = lambda: web_conversation.run_summary_job(
        summary_answer("Nobody hears this.")
    )
    web_conversation.run_summary_job(summary_answer(TEXT))
    assert [row[0] for row in web_conversation.versions()] == [1]


def test_a_session_that_was_left_behind_is_caught_up_with_stretch_by_stretch(
    web_conversation: LongConversation,
) -> None:
    long = "The slab was poured on Monday and inspected on Tuesday. " * 60
    for number in range(1, 25):
        web_conversation.ask(f"{long} Tower {number}?", pause=400)
    web_conversation.run_summary_job(*[summary_answer(f"Up to here, part {n}.") for n in range(8)])
    until = [int(str(row[1])) for row in web_conversation.versions()]
    assert len(until) >= 2
    assert until == sorted(set(until))
    sizes = [len(web_conversation.summariser_prompt(place)) for place in range(len(until))]
    assert max(sizes) < 1.2 * min(sizes[:-1])


def test_every_fifty_messages_an_anchor_is_made_and_given_to_the_embedder(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(24)
    web_conversation.run_summary_job(*[summary_answer(TEXT)] * 3)
    assert not anchors(web_conversation)
    web_conversation.run_turns(6, first=25)
    web_conversation.run_summary_job(summary_answer(TEXT))
    ((ordinal, content, pending),) = anchors(web_conversation)
    assert ordinal == 1
    assert "messages 1 to 5" in str(content)
    assert "tower" in str(content)
    assert pending
    web_conversation.run_turns(6, first=31)
    web_conversation.run_summary_job(summary_answer(TEXT))
    assert len(anchors(web_conversation)) == 1


def anchors(web_conversation: LongConversation) -> list[tuple[object, ...]]:
    return web_conversation.desk.query(
        "SELECT ordinal, content, pending FROM context_rows WHERE kind = 'summary_anchor' ORDER BY 1"
    )


def test_whoever_wants_one_that_is_wanted_changes_nothing(web_conversation: LongConversation) -> None:
    with web_conversation.desk.database.transaction(web_conversation.desk.tenant_id) as tx:
        assert job_scheduling.request_summary(tx, web_conversation.session, web_conversation.desk.clock())
        assert not job_scheduling.request_summary(tx, web_conversation.session, web_conversation.desk.clock())
    web_conversation.run_summary_job()
    assert not web_conversation.due_rows(), "there is nothing to take in"


def test_an_order_that_comes_before_its_time_asks_nobody(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    web_conversation.run_summary_job("No JSON.", "Still none.")
    web_conversation.run_summary_job(summary_answer(TEXT))
    assert not web_conversation.versions()
    web_conversation.desk.clock.now += FIRST_RETRY_DELAY
    web_conversation.run_summary_job("No JSON.", summary_answer(TEXT))  # it is repaired once
    assert len(web_conversation.versions()) == 1
    web_conversation.run_summary_job(summary_answer("Nobody wants it."))
    assert len(web_conversation.versions()) == 1


def _breaks() -> None:
    raise ZeroDivisionError


def test_what_nobody_foresaw_counts_as_a_try(web_conversation: LongConversation) -> None:
    web_conversation.run_turns(9)
    web_conversation.summariser.before_completion = _breaks
    with pytest.raises(ZeroDivisionError):
        web_conversation.run_summary_job(summary_answer(TEXT))
    assert web_conversation.desk.query("SELECT failures, problem FROM work_due WHERE kind = 'summary'") == [
        (1, "error")
    ]
    web_conversation.summariser.before_completion = lambda: None
    web_conversation.run_summary_job(summary_answer(TEXT))
    assert not web_conversation.versions(), "its time has not come"


def test_nobody_elses_session_is_touched(web_conversation: LongConversation) -> None:
    other = LongConversation(web_conversation.desk)
    other.ask("My policy is ZZ-90001.")
    web_conversation.run_turns(9)
    web_conversation.run_summary_job(summary_answer(TEXT))
    assert not other.versions()
    assert "ZZ-90001" not in web_conversation.summariser_prompt()


def test_what_is_deleted_while_it_is_written_is_in_none(web_conversation: LongConversation) -> None:
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    web_conversation.ask(
        "How wide is the crack at C4?", search_call("crack width C4"), text_answer(f"0.35 mm wide {numbers}.")
    )
    web_conversation.run_turns(8, first=2)
    desk = web_conversation.desk
    ((document,),) = desk.query(
        "SELECT c.document_id FROM citations c WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )

    def delete() -> None:
        now = desk.clock().isoformat()
        desk.query(f"UPDATE documents SET deleted_at = '{now}' WHERE id = '{document}' RETURNING 1")

    web_conversation.summariser.before_completion = delete
    web_conversation.run_summary_job(summary_answer("The crack at C4 is 0.35 mm wide."))
    assert not web_conversation.versions()
    assert web_conversation.due_rows(), "it is read anew"
    web_conversation.summariser.before_completion = lambda: None
    web_conversation.run_summary_job(summary_answer("The user asked for a crack."))
    assert "0.35 mm" not in web_conversation.summariser_prompt()
    assert [text for _, _, text in web_conversation.versions()] == ["The user asked for a crack."]
