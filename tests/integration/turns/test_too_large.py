"""A prompt that cannot be made to fit: its user hears what is too large and what to do, its operator which layer and by
how much; and what nobody was sent is nothing that the next prompt stands on."""

from decimal import Decimal

import pytest

from parlour.infra.jsonable import Json, JsonObject, canonical
from parlour.models import spend
from parlour.tools.run import ToolContext
from parlour.turns import polite
from tests.desk import Desk, calls, says


def newest(desk: Desk) -> tuple[object, object, str]:
    """What the last turn answered, whether it is degraded, and the reason that is kept of it."""
    ((reply, degraded, problem),) = desk.rows(
        "SELECT m.body, t.degraded, t.problem FROM turns t JOIN messages m ON m.turn_id = t.id"
        " WHERE m.direction = 'outbound' ORDER BY t.frozen_at DESC LIMIT 1"
    )
    return reply, degraded, str(problem)


def endless(_: ToolContext, given: JsonObject) -> JsonObject:
    """Very much, whatever was asked."""
    return {"ok": True, "lines": ["the slab is being poured in bay 4 " * 400]}


def many(tool: str, count: int, first: int = 0) -> list[JsonObject]:
    asked: Json = "every line of the register of the east tower, please, with all of its remarks and who made them"
    return [one for number in range(count) for one in calls(tool, f"call_{first + number}", what=asked)]


@pytest.mark.parametrize("writes", [False, True])
def test_a_turn_that_looked_up_too_much_says_so_and_what_to_do(
    desk: Desk, writes: bool, caplog: pytest.LogCaptureFixture
) -> None:
    desk.add_tool("registers", endless, writes=writes)
    visitor = desk.visit()
    desk.write_web(visitor, desk.session_of(visitor), "Read me all registers.")
    desk.model.script = [many("registers", 120)]
    desk.run()
    reply, degraded, problem = newest(desk)
    assert reply == polite.TOO_MANY_RESULTS + (polite.STAYS_DONE if writes else "")
    assert degraded is True
    assert problem.startswith("prompt_overflow_calls: takes ")
    assert desk.rows("SELECT payload ->> 'code' FROM events WHERE kind = 'error'") == [("prompt_overflow_calls",)]
    (told,) = [vars(one) for one in caplog.records if one.message == "turn_degraded"]
    assert told["code"] == "prompt_overflow_calls"
    assert told["tokens"] > told["left"] > 0


def test_enormous_results_alone_are_shortened_and_answered(desk: Desk) -> None:
    desk.add_tool("registers", endless, writes=False)
    desk.write("Read me the registers.")
    desk.model.script = [*(many("registers", 1, first=one) for one in range(4)), says("It is being poured.")]
    desk.run()
    assert newest(desk)[0] == "It is being poured."


def test_words_that_weigh_too_much_are_said_to_be_too_much_and_nothing_stands_on_them(desk: Desk) -> None:
    desk.write("நிலத்தின் விரிசல் " * 440)
    desk.run()
    reply, _, problem = newest(desk)
    assert reply == polite.TOO_MUCH
    assert problem.startswith("prompt_overflow_message: takes ")
    assert desk.rows("SELECT count(*) FROM session_prompts") == [(0,)]


def test_what_is_the_operators_to_shorten_is_not_said_to_be_the_users(desk: Desk) -> None:
    long = "Say where it stands. " * 3_000
    desk.rows(f"UPDATE agents SET instructions = '{long}' WHERE slug = 'site-adviser' RETURNING 1")
    desk.write("Hello?")
    desk.run()
    reply, _, problem = newest(desk)
    assert reply == polite.NOT_SET_UP
    assert problem.startswith("prompt_overflow_tiers: takes ")


def test_a_turn_whose_model_was_not_to_be_asked_leaves_what_was_sent_before(desk: Desk) -> None:
    desk.write("Hello?", "m1")
    desk.model.script = [says("Hello.")]
    desk.run()
    kept = desk.rows("SELECT standing, briefing FROM session_prompts")
    with desk.database.transaction(desk.admin) as tx:
        spend.set_cap(desk.admin, tx, Decimal("0.0001"), desk.clock())
    for number in range(12):
        desk.write(f"Question {number}?", f"refused-{number}")
        desk.run()
    assert newest(desk)[0] == polite.OVER_CAP
    assert canonical([*map(list, desk.rows("SELECT standing, briefing FROM session_prompts"))]) == canonical(
        [*map(list, kept)]
    )
