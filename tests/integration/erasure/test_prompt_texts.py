"""What records of prompts have of something that was forgotten, and what the prompts that come after count on."""

import pytest

from parlour.erasure import execution, prompt_texts
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasureTarget, ErasureUnfinished
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.prompts.ledger import explanation
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import text_answer
from tests.integration.erasure.erasure_fixture import ErasureFixture
from tests.integration.web_conversation import WebConversation

LINE = "The crane's papers are with the man at the gate."


@pytest.fixture
def other(aviary: ErasureFixture) -> WebConversation:
    return WebConversation(aviary.desk)


def again(talk: WebConversation) -> JsonObject:
    """The session's last prompt, made again from its record."""
    desk = talk.desk
    ((turn,),) = desk.query(f"SELECT id FROM turns WHERE session_id = '{talk.session}' ORDER BY number DESC LIMIT 1")
    with desk.database.transaction(desk.admin) as tx:
        assert explanation.explain_turn(desk.admin, tx, turn)  # type: ignore[arg-type]
        return rebuild_turn_prompt(desk.admin, tx, turn)  # type: ignore[arg-type]


def test_a_short_text_that_others_say_too_is_kept_anew_by_their_next_prompt(
    aviary: ErasureFixture, talk: WebConversation, other: WebConversation
) -> None:
    for one in (other, talk):
        one.say("Good morning, everybody here.", text_answer("Good morning."))
    kept = other.say("Thanks.", text_answer("Not at all."))
    told = talk.say("Thanks.", text_answer("Not at all."))
    assert kept != told
    assert again(other)["matches"]
    aviary.forget("message", told)
    for one in (other, talk):
        one.say("And who pours on Monday?", text_answer("The night shift."))
        assert again(one)["matches"]
    assert "Thanks." in other.next_prompt()
    assert "Thanks." not in talk.next_prompt()


def test_a_long_one_is_named_as_forgotten_by_the_prompts_of_who_says_it_too(
    aviary: ErasureFixture, talk: WebConversation, other: WebConversation
) -> None:
    other.say(LINE, text_answer("I see."))
    told = talk.say(LINE, text_answer("I see."))
    aviary.forget("message", told)
    for one in (other, talk):
        one.say("And who pours on Monday?", text_answer("The night shift."))
    assert again(talk)["matches"]
    assert again(other)["forgotten"]
    assert aviary.desk.query("SELECT count(*) FROM ledger_blobs WHERE words IS NULL") > [(0,)]
    assert LINE in other.next_prompt()


def test_where_not_all_records_were_looked_through_what_others_count_on_is_known_to_be_forgotten(
    aviary: ErasureFixture, talk: WebConversation, other: WebConversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = aviary.desk
    for one in (other, talk):
        one.say(LINE, text_answer("I see what you mean by that."))
    services = ErasureDependencies(desk.database, aviary.bucket, aviary.room.files, {}, desk.clock, uuid7)
    monkeypatch.setattr(prompt_texts, "_RECORD_BATCH_SIZE", 1)
    left = iter([60.0] * 3)  # their own is read, and that there is no other of theirs, and one of somebody else's
    wish = ErasureRequest(ErasureTarget("user", talk.user))
    with pytest.raises(ErasureUnfinished):
        execution.erase(desk.admin, services, wish, lambda: next(left, 5.0))
    report = execution.erase(desk.admin, services, wish, lambda: 60.0)
    assert "went unseen" in str(report["out_of_reach"])
    other.say("And who pours on Monday?", text_answer("The night shift."))
    made_again = again(other)
    layers = made_again["forgotten"]
    assert isinstance(layers, list)
    named = {str(one["words"]) for one in layers if isinstance(one, dict)}
    assert named <= {str(key) for (key,) in desk.query("SELECT hash FROM ledger_blobs WHERE words IS NULL")}
    assert len(named) == 1  # the line; the other was said in the last turn and stood in no prompt
