"""A long conversation gets a summary after the turn, in time for the cut that needs it, and goes on without one."""

import pytest

from parlour.context.past import WITHDRAWN
from parlour.infra.errors import ProviderUnavailable
from parlour.memory.summary import wanted
from parlour.memory.summary.writer import FIRST_WAIT
from tests.desk import Desk, says, searches
from tests.integration.memory.long_talk import LongTalk, written

TEXT = "The user asks about one tower after the other, and each stands."


@pytest.fixture
def talk(desk: Desk) -> LongTalk:
    return LongTalk(desk)


def orders(desk: Desk) -> list[str]:
    return [str(body["kind"]) for body, _ in desk.memory.sent]


def test_it_is_wanted_after_nine_turns_and_not_before(talk: LongTalk) -> None:
    talk.chat(8)
    assert "summary" not in orders(talk.desk)
    assert not talk.due()
    talk.chat(1, first=9)
    assert orders(talk.desk).count("summary") == 1
    assert talk.due()


def test_it_is_there_for_the_cut_and_stays_until_the_next_one(talk: LongTalk) -> None:
    talk.chat(9)
    talk.summarise(written(TEXT, kept_message_ids=[1, 2], dropped_message_ids=[3]))
    assert talk.versions() == [(1, 6, TEXT)]
    assert not talk.due()
    assert TEXT not in talk.chat(2, first=10), "nothing was cut yet"
    cut = talk.chat(1, first=12)
    assert TEXT in cut
    assert "What of tower 6?" not in cut
    assert "What of tower 7?" in cut
    talk.summarise(written("Another one."))
    assert TEXT in talk.chat(1, first=13), "its bytes change at a cut alone"
    assert talk.explained()["miss"] is None


def test_it_goes_on_from_the_last_one_and_reads_only_what_is_new(talk: LongTalk) -> None:
    talk.chat(9)
    talk.summarise(written(TEXT))
    talk.chat(6, first=10)
    talk.summarise(written("All towers stand."))
    asked = talk.question()
    assert TEXT in asked
    assert "tower 6?" not in asked
    assert all(f"What of tower {n}?" in asked for n in range(7, 13))
    assert [row[:2] for row in talk.versions()] == [(1, 6), (2, 12)]


def test_what_it_lost_is_kept_word_for_word_and_told_beside_it(talk: LongTalk) -> None:
    talk.ask("My policy is PX-48213 and I paid Rs 45,000.", says("I will call you on Friday."))
    talk.chat(8, first=2)
    talk.summarise(written("The user has the policy PX-48213."))
    assert talk.lines() == ["I will call you on Friday.", "My policy is PX-48213 and I paid Rs 45,000."]
    cut = talk.chat(3, first=10)
    assert "- you: I will call you on Friday." in cut
    assert "Rs 45,000" in cut


def test_what_a_later_one_loses_is_told_again_and_what_it_has_is_not(talk: LongTalk) -> None:
    talk.ask("My policy is PX-48213.")
    talk.chat(8, first=2)
    talk.summarise(written("The user has the policy PX-48213."))
    assert not talk.lines()
    talk.chat(6, first=10)
    talk.summarise(written("Towers stand."))
    assert talk.lines() == ["My policy is PX-48213."]
    talk.chat(6, first=16)
    talk.summarise(written("The policy is PX-48213, and towers stand."))
    assert not talk.lines()


@pytest.mark.parametrize("answer", ["no JSON", '{"summary": "They owe Rs 9,99,000."}', ProviderUnavailable("away")])
def test_without_an_answer_that_holds_the_recap_stays_and_the_next_try_waits(
    talk: LongTalk, answer: str | Exception
) -> None:
    talk.chat(9)
    talk.summarise(*[answer] * 4)
    assert not talk.versions()
    ((due,),) = talk.due()
    cut = talk.chat(3, first=10)
    assert "Earlier in this conversation, shortened:" in cut
    assert talk.due() == [(due,)], "nobody asks again for it before its time"
    assert talk.desk.rows("SELECT failures FROM work_due WHERE kind = 'summary'") == [(1,)]


def test_a_cut_waits_for_one_that_is_under_way_and_not_for_ever(talk: LongTalk) -> None:
    assert "What of tower 1?" in talk.chat(14), "it has been wanted since the ninth turn"
    cut = talk.chat(3, first=15)
    assert "shortened:" in cut


def test_without_a_model_what_must_survive_is_kept_beside_the_recap(talk: LongTalk) -> None:
    talk.ask("My policy is PX-48213.", says("I will call you on Friday."))
    talk.chat(8, first=2)
    talk.summarise(models={})
    assert [row[:2] for row in talk.versions()] == [(1, 6)]
    assert [text for _, _, text in talk.versions()] == [""]
    assert talk.lines() == ["I will call you on Friday.", "My policy is PX-48213."]
    cut = talk.chat(3, first=10)
    assert "PX-48213" in cut
    assert "summarised" not in cut
    assert "shortened:" in cut


def test_it_rests_on_what_its_turns_were_drawn_from_and_goes_with_it(talk: LongTalk) -> None:
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    talk.ask("How wide is the crack at C4?", searches("crack width C4"), says(f"0.35 mm wide {numbers}."))
    talk.chat(8, first=2)
    talk.summarise(written("The crack at C4 is 0.35 mm wide."))
    talk.chat(2, first=10)
    assert "0.35 mm wide" in talk.chat(1, first=12)
    ((document,),) = talk.desk.rows(
        "SELECT c.document_id FROM citations c WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )
    talk.desk.rows(f"UPDATE documents SET classification = 3 WHERE id = '{document}' RETURNING 1")
    talk.desk.rows(f"UPDATE context_rows SET classification = 3 WHERE document_id = '{document}' RETURNING 1")
    closed = talk.chat(1, first=13)
    assert "0.35 mm" not in closed
    assert WITHDRAWN in closed
    assert talk.explained()["causes"] == ["classification"]
    assert talk.due(), "another one is wanted"
    talk.summarise(written("The user asked how wide the crack at C4 is."))
    assert "0.35 mm" not in talk.question()
    assert "How wide is the crack at C4?" in talk.question(), "what the user wrote stays"
    again = talk.chat(1, first=14)
    assert "The user asked how wide the crack at C4 is." in again
    assert WITHDRAWN not in again


def test_an_operator_sees_where_it_comes_from(talk: LongTalk) -> None:
    talk.ask("My policy is PX-48213.")
    talk.chat(8, first=2)
    talk.summarise(written(TEXT))
    talk.chat(3, first=10)
    told = [one for one in talk.explained()["candidates"] if one["lot"] == "summary"]
    assert {"summaries", "messages"} == {one["source"]["table"] for one in told}
    assert all(one["in"] for one in told)


def test_it_changes_the_notes_of_the_agent(talk: LongTalk) -> None:
    talk.chat(9)
    add = {"op": "add", "item": {"kind": "task", "title": "Look at tower 3", "status": "active"}}
    talk.summarise(written(TEXT, agent_state_item_updates=[add, {"op": "update", "id": "nobody", "patch": {}}]))
    ((state,),) = talk.desk.rows(f"SELECT state FROM agent_states WHERE session_id = '{talk.session}'")
    assert "Look at tower 3" in str(state)
    talk.chat(6, first=10)
    talk.summarise(written(TEXT))
    assert "Look at tower 3" in talk.question(), "it is given them to go by"


def test_two_writers_do_not_write_the_same(talk: LongTalk) -> None:
    talk.chat(9)
    talk.summariser.during = lambda: talk.summarise(written("Nobody hears this."))
    talk.summarise(written(TEXT))
    assert [row[0] for row in talk.versions()] == [1]


def test_a_session_that_was_left_behind_is_caught_up_with_stretch_by_stretch(talk: LongTalk) -> None:
    long = "The slab was poured on Monday and inspected on Tuesday. " * 60
    for number in range(1, 25):
        talk.ask(f"{long} Tower {number}?", pause=400)
    talk.summarise(*[written(f"Up to here, part {n}.") for n in range(8)])
    until = [int(str(row[1])) for row in talk.versions()]
    assert len(until) >= 2
    assert until == sorted(set(until))
    sizes = [len(talk.question(place)) for place in range(len(until))]
    assert max(sizes) < 1.2 * min(sizes[:-1])


def test_every_fifty_messages_an_anchor_is_made_and_given_to_the_embedder(talk: LongTalk) -> None:
    talk.chat(24)
    talk.summarise(*[written(TEXT)] * 3)
    assert not anchors(talk)
    talk.chat(6, first=25)
    talk.summarise(written(TEXT))
    ((ordinal, content, pending),) = anchors(talk)
    assert ordinal == 1
    assert "messages 1 to 5" in str(content)
    assert "tower" in str(content)
    assert pending
    talk.chat(6, first=31)
    talk.summarise(written(TEXT))
    assert len(anchors(talk)) == 1


def anchors(talk: LongTalk) -> list[tuple[object, ...]]:
    return talk.desk.rows("SELECT ordinal, content, pending FROM context_rows WHERE kind = 'summary_anchor' ORDER BY 1")


def test_whoever_wants_one_that_is_wanted_changes_nothing(talk: LongTalk) -> None:
    with talk.desk.database.transaction(talk.desk.tenant_id) as tx:
        assert wanted.want(tx, talk.session, talk.desk.clock())
        assert not wanted.want(tx, talk.session, talk.desk.clock())
    talk.summarise()
    assert not talk.due(), "there is nothing to take in"


def test_an_order_that_comes_before_its_time_asks_nobody(talk: LongTalk) -> None:
    talk.chat(9)
    talk.summarise("No JSON.")
    talk.summarise(written(TEXT))
    assert not talk.versions()
    talk.desk.clock.now += FIRST_WAIT
    talk.summarise(written(TEXT))
    assert len(talk.versions()) == 1
    talk.summarise(written("Nobody wants it."))
    assert len(talk.versions()) == 1


def _breaks() -> None:
    raise ZeroDivisionError


def test_what_nobody_foresaw_counts_as_a_try(talk: LongTalk) -> None:
    talk.chat(9)
    talk.summariser.during = _breaks
    with pytest.raises(ZeroDivisionError):
        talk.summarise(written(TEXT))
    assert talk.desk.rows("SELECT failures, problem FROM work_due WHERE kind = 'summary'") == [(1, "error")]
    talk.summariser.during = lambda: None
    talk.summarise(written(TEXT))
    assert not talk.versions(), "its time has not come"


def test_nobody_elses_session_is_touched(talk: LongTalk) -> None:
    other = LongTalk(talk.desk)
    other.ask("My policy is ZZ-90001.")
    talk.chat(9)
    talk.summarise(written(TEXT))
    assert not other.versions()
    assert "ZZ-90001" not in talk.question()


def test_what_is_deleted_while_it_is_written_is_in_none(talk: LongTalk) -> None:
    numbers = " ".join(f"[{n}]" for n in range(1, 9))
    talk.ask("How wide is the crack at C4?", searches("crack width C4"), says(f"0.35 mm wide {numbers}."))
    talk.chat(8, first=2)
    desk = talk.desk
    ((document,),) = desk.rows(
        "SELECT c.document_id FROM citations c WHERE c.document_id IS NOT NULL ORDER BY c.number LIMIT 1"
    )

    def delete() -> None:
        now = desk.clock().isoformat()
        desk.rows(f"UPDATE documents SET deleted_at = '{now}' WHERE id = '{document}' RETURNING 1")

    talk.summariser.during = delete
    talk.summarise(written("The crack at C4 is 0.35 mm wide."))
    assert not talk.versions()
    assert talk.due(), "it is read anew"
    talk.summariser.during = lambda: None
    talk.summarise(written("The user asked for a crack."))
    assert "0.35 mm" not in talk.question()
    assert [text for _, _, text in talk.versions()] == ["The user asked for a crack."]
