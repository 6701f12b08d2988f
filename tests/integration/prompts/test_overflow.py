"""A prompt that cannot be made to fit: its user hears what is too large and what to do, its operator which layer and by
how much; and what nobody was sent is nothing that the next prompt stands on."""

from decimal import Decimal

import pytest

from parlour.conversations import canned_replies
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.models import spend
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer, tool_call


def newest(conversation: ConversationHarness) -> tuple[object, object, str]:
    """What the last turn answered, whether it is degraded, and the reason that is kept of it."""
    ((reply, degraded, problem),) = conversation.query(
        "SELECT m.body, t.degraded, t.problem FROM turns t JOIN messages m ON m.turn_id = t.id"
        " WHERE m.direction = 'outbound' ORDER BY t.frozen_at DESC LIMIT 1"
    )
    return reply, degraded, str(problem)


def endless(_: ToolContext, given: JsonObject) -> JsonObject:
    """Very much, whatever was asked."""
    return {"ok": True, "lines": ["the slab is being poured in bay 4 " * 400]}


def many(tool: str, count: int, first: int = 0) -> list[JsonObject]:
    asked: Json = "every line of the register of the east tower, please, with all of its remarks and who made them"
    return [one for number in range(count) for one in tool_call(tool, f"call_{first + number}", what=asked)]


@pytest.mark.parametrize("writes", [False, True])
def test_a_turn_that_looked_up_too_much_says_so_and_what_to_do(
    conversation: ConversationHarness, writes: bool, caplog: pytest.LogCaptureFixture
) -> None:
    conversation.add_tool("registers", endless, writes=writes)
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Read me all registers.")
    conversation.model.script = [many("registers", 120)]
    conversation.run_turn()
    reply, degraded, problem = newest(conversation)
    assert reply == canned_replies.RESULTS_TOO_LARGE_REPLY + (canned_replies.CHANGES_KEPT_SUFFIX if writes else "")
    assert degraded is True
    assert problem.startswith("prompt_overflow_calls: takes ")
    assert conversation.query("SELECT payload ->> 'code' FROM events WHERE kind = 'error'") == [
        ("prompt_overflow_calls",)
    ]
    (told,) = [vars(one) for one in caplog.records if one.message == "turn_degraded"]
    assert told["code"] == "prompt_overflow_calls"
    assert told["tokens"] > told["left"] > 0


def test_enormous_results_alone_are_shortened_and_answered(conversation: ConversationHarness) -> None:
    conversation.add_tool("registers", endless, writes=False)
    conversation.send_whatsapp("Read me the registers.")
    conversation.model.script = [
        *(many("registers", 1, first=one) for one in range(4)),
        text_answer("It is being poured."),
    ]
    conversation.run_turn()
    assert newest(conversation)[0] == "It is being poured."


def test_words_that_weigh_too_much_are_said_to_be_too_much_and_nothing_stands_on_them(
    conversation: ConversationHarness,
) -> None:
    conversation.send_whatsapp("நிலத்தின் விரிசல் " * 440)
    conversation.run_turn()
    reply, _, problem = newest(conversation)
    assert reply == canned_replies.INPUT_TOO_LARGE_REPLY
    assert problem.startswith("prompt_overflow_message: takes ")
    assert conversation.query("SELECT count(*) FROM session_prompts") == [(0,)]


def test_what_is_the_operators_to_shorten_is_not_said_to_be_the_users(conversation: ConversationHarness) -> None:
    long = "Say where it stands. " * 3_000
    conversation.query(f"UPDATE agents SET instructions = '{long}' WHERE slug = 'site-adviser' RETURNING 1")
    conversation.send_whatsapp("Hello?")
    conversation.run_turn()
    reply, _, problem = newest(conversation)
    assert reply == canned_replies.MISCONFIGURED_REPLY
    assert problem.startswith("prompt_overflow_tiers: takes ")


def test_a_turn_whose_model_was_not_to_be_asked_leaves_what_was_sent_before(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello?", "m1")
    conversation.model.script = [text_answer("Hello.")]
    conversation.run_turn()
    kept = conversation.query("SELECT cache_state, briefing FROM session_prompts")
    with conversation.database.transaction(conversation.admin) as tx:
        spend.set_daily_cap(conversation.admin, tx, Decimal("0.0001"), conversation.clock())
    for number in range(12):
        conversation.send_whatsapp(f"Question {number}?", f"refused-{number}")
        conversation.run_turn()
    assert newest(conversation)[0] == canned_replies.DAILY_CAP_REPLY
    assert canonical_json(
        [*map(list, conversation.query("SELECT cache_state, briefing FROM session_prompts"))]
    ) == canonical_json([*map(list, kept)])
