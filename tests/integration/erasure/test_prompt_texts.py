"""What records of prompts have of something that was forgotten, and what the prompts that come after count on."""

import pytest

from parlour.erasure import execution, prompt_texts
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasureTarget, ErasureUnfinished
from parlour.infra.json_values import JsonObject
from parlour.prompts.ledger import explanation
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from tests.conversation_harness import text_answer
from tests.integration.erasure.erasure_fixture import ErasureFixture
from tests.integration.web_conversation import WebConversation

LINE = "The crane's papers are with the man at the gate."


@pytest.fixture
def other(erasure_fixture: ErasureFixture) -> WebConversation:
    return WebConversation(erasure_fixture.desk)


def again(web_conversation: WebConversation) -> JsonObject:
    """The session's last prompt, made again from its record."""
    desk = web_conversation.desk
    ((turn,),) = desk.query(
        f"SELECT id FROM turns WHERE session_id = '{web_conversation.session}' ORDER BY number DESC LIMIT 1"
    )
    with desk.database.transaction(desk.admin) as tx:
        assert explanation.explain_turn(desk.admin, tx, turn)  # type: ignore[arg-type]
        return rebuild_turn_prompt(desk.admin, tx, turn)  # type: ignore[arg-type]


def test_a_short_text_that_others_say_too_is_kept_anew_by_their_next_prompt(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, other: WebConversation
) -> None:
    for one in (other, web_conversation):
        one.say("Good morning, everybody here.", text_answer("Good morning."))
    kept = other.say("Thanks.", text_answer("Not at all."))
    told = web_conversation.say("Thanks.", text_answer("Not at all."))
    assert kept != told
    assert again(other)["is_identical"]
    erasure_fixture.forget("message", told)
    for one in (other, web_conversation):
        one.say("And who pours on Monday?", text_answer("The night shift."))
        assert again(one)["is_identical"]
    assert "Thanks." in other.next_prompt()
    assert "Thanks." not in web_conversation.next_prompt()


def test_a_long_one_is_named_as_forgotten_by_the_prompts_of_who_says_it_too(
    erasure_fixture: ErasureFixture, web_conversation: WebConversation, other: WebConversation
) -> None:
    other.say(LINE, text_answer("I see."))
    told = web_conversation.say(LINE, text_answer("I see."))
    erasure_fixture.forget("message", told)
    for one in (other, web_conversation):
        one.say("And who pours on Monday?", text_answer("The night shift."))
    assert again(web_conversation)["is_identical"]
    assert again(other)["erased"]
    assert erasure_fixture.desk.query("SELECT count(*) FROM ledger_texts WHERE text IS NULL") > [(0,)]
    assert LINE in other.next_prompt()


def test_where_not_all_records_were_looked_through_what_others_count_on_is_known_to_be_forgotten(
    erasure_fixture: ErasureFixture,
    web_conversation: WebConversation,
    other: WebConversation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = erasure_fixture.desk
    for one in (other, web_conversation):
        one.say(LINE, text_answer("I see what you mean by that."))
    services = ErasureDependencies(desk.database, erasure_fixture.bucket, erasure_fixture.room.files, {}, desk.clock)
    monkeypatch.setattr(prompt_texts, "_RECORD_BATCH_SIZE", 1)
    left = iter([60.0] * 3)  # their own is read, and that there is no other of theirs, and one of somebody else's
    wish = ErasureRequest(ErasureTarget("user", web_conversation.user))
    with pytest.raises(ErasureUnfinished):
        execution.erase(desk.admin, services, wish, lambda: next(left, 5.0))
    report = execution.erase(desk.admin, services, wish, lambda: 60.0)
    assert "were deleted without a check" in str(report["out_of_reach"])
    other.say("And who pours on Monday?", text_answer("The night shift."))
    made_again = again(other)
    layers = made_again["erased"]
    assert isinstance(layers, list)
    named = {str(one["text_hash"]) for one in layers if isinstance(one, dict)}
    assert named <= {str(key) for (key,) in desk.query("SELECT hash FROM ledger_texts WHERE text IS NULL")}
    assert len(named) == 1  # the line; the other was said in the last turn and stood in no prompt
