"""A long conversation gets a summary after the turn, in time for the cut that needs it, and goes on without one."""

import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.memory.summaries import summary_request
from parlour.memory.summaries.summary_job import FIRST_RETRY_DELAY
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from tests.conversation_harness import ConversationHarness, search_call, text_answer
from tests.integration.memory.long_conversation import LongConversation, summary_answer

TEXT = "The user asks about one tower after the other, and each stands."


@pytest.fixture
def talk(desk: ConversationHarness) -> LongConversation:
    return LongConversation(desk)


def orders(desk: ConversationHarness) -> list[str]:
    return [str(body["kind"]) for body, _ in desk.memory.sent]


def test_it_is_wanted_after_nine_turns_and_not_before(talk: LongConversation) -> None:
    talk.run_turns(8)
    assert "summary" not in orders(talk.desk)
    assert not talk.due_rows()
    talk.run_turns(1, first=9)
    assert orders(talk.desk).count("summary") == 1
    assert talk.due_rows()


def test_it_is_there_for_the_cut_and_stays_until_the_next_one(talk: LongConversation) -> None:
    talk.run_turns(9)
    talk.run_summary_job(summary_answer(TEXT, kept_message_ids=[1, 2], dropped_message_ids=[3]))
    assert talk.versions() == [(1, 6, TEXT)]
    assert not talk.due_rows()
    assert TEXT not in talk.run_turns(2, first=10), "nothing was cut yet"
    cut = talk.run_turns(1, first=12)
    assert TEXT in cut
    assert "What of tower 6?" not in cut
    assert "What of tower 7?" in cut
    talk.run_summary_job(summary_answer("Another one."))
    assert TEXT in talk.run_turns(1, first=13), "its bytes change at a cut alone"
    assert talk.explain_prompt()["cache_miss"] is None


def test_it_goes_on_from_the_last_one_and_reads_only_what_is_new(talk: LongConversation) -> None:
    talk.run_turns(9)
    talk.run_summary_job(summary_answer(TEXT))
    talk.run_turns(6, first=10)
    talk.run_summary_job(summary_answer("All towers stand."))
    asked = talk.summariser_prompt()
    assert TEXT in asked
    assert "tower 6?" not in asked
    assert all(f"What of tower {n}?" in asked for n in range(7, 13))
    assert [row[:2] for row in talk.versions()] == [(1, 6), (2, 12)]


def test_what_it_lost_is_kept_word_for_word_and_told_beside_it(talk: LongConversation) -> None:
    talk.ask("My policy is PX-48213 and I paid Rs 45,000.", text_answer("I will call you on Friday."))
    talk.run_turns(8, first=2)
    talk.run_summary_job(summary_answer("The user has the policy PX-48213."))
    assert talk.key_details() == ["I will call you on Friday.", "My policy is PX-48213 and I paid Rs 45,000."]
    cut = talk.run_turns(3, first=10)
    assert "- you: I will call you on Friday." in cut
    assert "Rs 45,000" in cut


def test_what_a_later_one_loses_is_told_again_and_what_it_has_is_not(talk: LongConversation) -> None:
    talk.ask("My policy is PX-48213.")
    talk.run_turns(8, first=2)
    talk.run_summary_job(summary_answer("The user has the policy PX-48213."))
    assert not talk.key_details()
    talk.run_turns(6, first=10)
    talk.run_summary_job(summary_answer("Towers stand."))
    assert talk.key_details() == ["My policy is PX-48213."]
    talk.run_turns(6, first=16)
    talk.run_summary_job(summary_answer("The policy is PX-48213, and towers stand."))
    assert not talk.key_details()


@pytest.mark.parametrize("answer", ["no JSON", '{"summary": "They owe Rs 9,99,000."}', ProviderUnavailable("away")])
def test_without_an_answer_that_holds_the_recap_stays_and_the_next_try_waits(
    talk: LongConversation, answer: str | Exception
) -> None:
    talk.run_turns(9)
    talk.run_summary_job(*[answer] * 4)
    assert not talk.versions()
    ((due,),) = talk.due_rows()
    cut = talk.run_turns(3, first=10)
    assert "Earlier in this conversation, shortened:" in cut
    assert talk.due_rows() == [(due,)], "nobody asks again for it before its time"
    assert talk.desk.query("SELECT failures FROM work_due WHERE kind = 'summary'") == [(1,)]


def test_a_cut_waits_for_one_that_is_under_way_and_not_for_ever(talk: LongConversation) -> None:
    assert "What of tower 1?" in talk.run_turns(14), "it has been wanted since the ninth turn"
    cut = talk.run_turns(3, first=15)
    assert "shortened:" in cut


def test_without_a_model_what_must_survive_is_kept_beside_the_recap(talk: LongConversation) -> None:
    talk.ask("My policy is PX-48213.", text_answer("I will call you on Friday."))
    talk.run_turns(8, first=2)
    talk.run_summary_job(models={})
    assert [row[:2] for row in talk.versions()] == [(1, 6)]
    assert [text for _, _, text in talk.versions()] == [""]
    assert talk.key_details() == ["I will call you on Friday.", "My policy is PX-48213."]
    cut = talk.run_turns(3, first=10)
    assert "PX-48213" in cut
    assert "summarised" not in cut
    assert "shortened:" in cut


def test_it_rests_on_what_its_turns_were_drawn_from_and_goes_with_it(talk: LongConversation) -> None:
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    talk.ask("How wide is the crack at C4?", search_call("crack width C4"), text_answer(f"0.35 mm wide {numbers}."))
    talk.run_turns(8, first=2)
    talk.run_summary_job(summary_answer("The crack at C4 is 0.35 mm wide."))
    talk.run_turns(2, first=10)
    assert "0.35 mm wide" in talk.run_turns(1, first=12)
    ((document,),) = talk.desk.query(
        "SELECT c.document_id FROM citations c WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )
    talk.desk.query(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    talk.desk.query(f"UPDATE context_rows SET classification = 3 WHERE document_id = '{document}' RETURNING 1")
    closed = talk.run_turns(1, first=13)
    assert "0.35 mm" not in closed
    assert WITHHELD_TEXT in closed
    assert talk.explain_prompt()["refresh_causes"] == ["classification"]
    assert talk.due_rows(), "another one is wanted"
    talk.run_summary_job(summary_answer("The user asked how wide the crack at C4 is."))
    assert "0.35 mm" not in talk.summariser_prompt()
    assert "How wide is the crack at C4?" in talk.summariser_prompt(), "what the user wrote stays"
    again = talk.run_turns(1, first=14)
    assert "The user asked how wide the crack at C4 is." in again
    assert WITHHELD_TEXT not in again


def test_an_operator_sees_where_it_comes_from(talk: LongConversation) -> None:
    talk.ask("My policy is PX-48213.")
    talk.run_turns(8, first=2)
    talk.run_summary_job(summary_answer(TEXT))
    talk.run_turns(3, first=10)
    told = [one for one in talk.explain_prompt()["candidates"] if one["kind"] == "summary"]
    assert {"summaries", "messages"} == {one["source"]["table"] for one in told}
    assert all(one["is_included"] for one in told)


def test_it_changes_the_notes_of_the_agent(talk: LongConversation) -> None:
    talk.run_turns(9)
    add = {"op": "add", "item": {"kind": "task", "title": "Look at tower 3", "status": "active"}}
    talk.run_summary_job(
        summary_answer(TEXT, agent_state_item_updates=[add, {"op": "update", "id": "nobody", "patch": {}}])
    )
    ((state,),) = talk.desk.query(f"SELECT state FROM agent_states WHERE session_id = '{talk.session}'")
    assert "Look at tower 3" in str(state)
    talk.run_turns(6, first=10)
    talk.run_summary_job(summary_answer(TEXT))
    assert "Look at tower 3" in talk.summariser_prompt(), "it is given them to go by"


def test_two_writers_do_not_write_the_same(talk: LongConversation) -> None:
    talk.run_turns(9)
    talk.summariser.before_completion = lambda: talk.run_summary_job(summary_answer("Nobody hears this."))
    talk.run_summary_job(summary_answer(TEXT))
    assert [row[0] for row in talk.versions()] == [1]


def test_a_session_that_was_left_behind_is_caught_up_with_stretch_by_stretch(talk: LongConversation) -> None:
    long = "The slab was poured on Monday and inspected on Tuesday. " * 60
    for number in range(1, 25):
        talk.ask(f"{long} Tower {number}?", pause=400)
    talk.run_summary_job(*[summary_answer(f"Up to here, part {n}.") for n in range(8)])
    until = [int(str(row[1])) for row in talk.versions()]
    assert len(until) >= 2
    assert until == sorted(set(until))
    sizes = [len(talk.summariser_prompt(place)) for place in range(len(until))]
    assert max(sizes) < 1.2 * min(sizes[:-1])


def test_every_fifty_messages_an_anchor_is_made_and_given_to_the_embedder(talk: LongConversation) -> None:
    talk.run_turns(24)
    talk.run_summary_job(*[summary_answer(TEXT)] * 3)
    assert not anchors(talk)
    talk.run_turns(6, first=25)
    talk.run_summary_job(summary_answer(TEXT))
    ((ordinal, content, pending),) = anchors(talk)
    assert ordinal == 1
    assert "messages 1 to 5" in str(content)
    assert "tower" in str(content)
    assert pending
    talk.run_turns(6, first=31)
    talk.run_summary_job(summary_answer(TEXT))
    assert len(anchors(talk)) == 1


def anchors(talk: LongConversation) -> list[tuple[object, ...]]:
    return talk.desk.query(
        "SELECT ordinal, content, pending FROM context_rows WHERE kind = 'summary_anchor' ORDER BY 1"
    )


def test_whoever_wants_one_that_is_wanted_changes_nothing(talk: LongConversation) -> None:
    with talk.desk.database.transaction(talk.desk.tenant_id) as tx:
        assert summary_request.request_summary(tx, talk.session, talk.desk.clock())
        assert not summary_request.request_summary(tx, talk.session, talk.desk.clock())
    talk.run_summary_job()
    assert not talk.due_rows(), "there is nothing to take in"


def test_an_order_that_comes_before_its_time_asks_nobody(talk: LongConversation) -> None:
    talk.run_turns(9)
    talk.run_summary_job("No JSON.")
    talk.run_summary_job(summary_answer(TEXT))
    assert not talk.versions()
    talk.desk.clock.now += FIRST_RETRY_DELAY
    talk.run_summary_job(summary_answer(TEXT))
    assert len(talk.versions()) == 1
    talk.run_summary_job(summary_answer("Nobody wants it."))
    assert len(talk.versions()) == 1


def _breaks() -> None:
    raise ZeroDivisionError


def test_what_nobody_foresaw_counts_as_a_try(talk: LongConversation) -> None:
    talk.run_turns(9)
    talk.summariser.before_completion = _breaks
    with pytest.raises(ZeroDivisionError):
        talk.run_summary_job(summary_answer(TEXT))
    assert talk.desk.query("SELECT failures, problem FROM work_due WHERE kind = 'summary'") == [(1, "error")]
    talk.summariser.before_completion = lambda: None
    talk.run_summary_job(summary_answer(TEXT))
    assert not talk.versions(), "its time has not come"


def test_nobody_elses_session_is_touched(talk: LongConversation) -> None:
    other = LongConversation(talk.desk)
    other.ask("My policy is ZZ-90001.")
    talk.run_turns(9)
    talk.run_summary_job(summary_answer(TEXT))
    assert not other.versions()
    assert "ZZ-90001" not in talk.summariser_prompt()


def test_what_is_deleted_while_it_is_written_is_in_none(talk: LongConversation) -> None:
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    talk.ask("How wide is the crack at C4?", search_call("crack width C4"), text_answer(f"0.35 mm wide {numbers}."))
    talk.run_turns(8, first=2)
    desk = talk.desk
    ((document,),) = desk.query(
        "SELECT c.document_id FROM citations c WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )

    def delete() -> None:
        now = desk.clock().isoformat()
        desk.query(f"UPDATE documents SET deleted_at = '{now}' WHERE id = '{document}' RETURNING 1")

    talk.summariser.before_completion = delete
    talk.run_summary_job(summary_answer("The crack at C4 is 0.35 mm wide."))
    assert not talk.versions()
    assert talk.due_rows(), "it is read anew"
    talk.summariser.before_completion = lambda: None
    talk.run_summary_job(summary_answer("The user asked for a crack."))
    assert "0.35 mm" not in talk.summariser_prompt()
    assert [text for _, _, text in talk.versions()] == ["The user asked for a crack."]
