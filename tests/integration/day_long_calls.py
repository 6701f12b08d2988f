"""Long calls of a working day: done, answered later, in doubt, run again, stopped; and an effect of a turn's own."""

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.inbox import threads
from parlour.infra.errors import AnswersLater
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.tools import calls
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer
from tests.conversation_harness import tool_call as asks
from tests.long_tool_harness import LongToolHarness, ProcessKilled


def run_long_calls(conversation: ConversationHarness) -> None:
    """Each once."""
    _left_in_the_middle(conversation)
    yard = LongToolHarness(conversation, lambda: Database(_nowhere))
    yard.before_result = lambda _: time.sleep(1.8)  # the dispatcher renews its lease, and looks if it is to stop
    yard.dispatch_call(yard.begin_call("long-1"))
    _answered_later(yard)
    for how in ("long-3", "long-4"):
        _in_doubt(yard, how)
    _stopped(yard)
    _an_effect_of_the_turns_own(conversation)
    left = yard.begin_call("long-8")  # for the evening
    turn_id, _ = _place(conversation, left)
    with conversation.database.transaction(conversation.admin) as tx:
        assert calls.list_undispatched(tx, turn_id) == [left]


def _answered_later(yard: LongToolHarness) -> None:
    def takes(_: ToolContext) -> None:
        raise AnswersLater

    yard.before_result = takes
    yard.dispatch_call(yard.begin_call("long-2"))
    yard.post_callback(yard.callback_urls[-1], {"pages": 12})
    yard.before_result = lambda _: None


def _in_doubt(yard: LongToolHarness, provider_id: str) -> None:
    desk = yard.conversation
    call_id = yard.begin_call(provider_id)
    yard.kill_dispatcher(call_id)
    desk.clock.now += timedelta(seconds=901)
    with desk.database.transaction(desk.admin) as tx:
        assert call_id in {one.id for one in calls.list_unanswered(desk.admin, tx, desk.clock(), 10)}
    yard.dispatch_call(call_id)
    _, session_id = _place(desk, call_id)
    with desk.database.transaction(desk.admin) as tx:
        assert call_id in {one.id for one in calls.list_unknown(desk.admin, tx, 10)}
        threads.open_thread(desk.admin, tx, session_id, "unknown_effect", "", desk.clock())
        assert threads.settle(tx, session_id, desk.clock()) is None
        threads.hand_back(desk.admin, tx, session_id, "", desk.clock())
        ended = calls.resolve_call(
            desk.admin, tx, call_id, "done" if provider_id == "long-3" else "run_again", desk.clock()
        )
    if ended is None:
        yard.dispatch_call(call_id)


def _stopped(yard: LongToolHarness) -> None:
    desk = yard.conversation
    for provider_id in ("long-5", "long-6"):
        call_id = yard.begin_call(provider_id)
        _, session_id = _place(desk, call_id)
        with desk.database.transaction(desk.admin) as tx:
            if provider_id == "long-5":
                assert calls.cancel_call(desk.admin, tx, call_id, desk.clock())
            else:
                assert calls.cancel_session_calls(tx, session_id, desk.clock())[0] == 1


def _an_effect_of_the_turns_own(conversation: ConversationHarness) -> None:
    """It is done; another's worker dies at it, and the turn that asked for it is given up."""

    def page(context: ToolContext, arguments: JsonObject) -> JsonObject:
        if context.turn_id in dying:
            raise ProcessKilled
        dying.add(context.turn_id)
        return {"paged": True}

    dying: set[UUID] = set()
    conversation.add_tool("page", page)
    conversation.send_whatsapp("Page the foreman, twice.", "long-7")
    conversation.model.script = [asks("page", "first"), asks("page", "second")]
    with pytest.raises(ProcessKilled):
        conversation.run_turn()
    (turn_id,) = dying
    conversation.clock.now += timedelta(minutes=5)
    with conversation.database.transaction(conversation.admin) as tx:
        assert [one.state for one in calls.list_unfinished(tx, turn_id)] == ["running"]
        assert calls.give_up_calls(tx, turn_id, conversation.clock()) == 1
        assert calls.list_unknown(conversation.admin, tx, 10)
    conversation.model.script = [text_answer("One of them, nobody knows.")]
    conversation.run_turn()


def _left_in_the_middle(conversation: ConversationHarness) -> None:
    """A worker dies at a visitor's effect, and nobody has come for it by the evening."""

    def die(context: ToolContext, arguments: JsonObject) -> JsonObject:
        dead.append(context.turn_id)
        raise ProcessKilled

    dead: list[UUID] = []
    conversation.add_tool("page", die)
    visitor = conversation.create_visitor()
    conversation.send_web(visitor, conversation.find_session(visitor), "Page the foreman.")
    conversation.model.script = [asks("page")]
    with pytest.raises(ProcessKilled):
        conversation.run_turn()
    with conversation.database.transaction(conversation.admin) as tx:
        assert [one.state for one in calls.list_unfinished(tx, dead[0])] == ["running"]


def _place(conversation: ConversationHarness, call_id: UUID) -> tuple[UUID, UUID]:
    ((turn_id, session_id),) = conversation.query(
        f"SELECT turn_id, session_id FROM tool_calls c JOIN turns t ON t.id = c.turn_id WHERE c.id = '{call_id}'"
    )
    assert isinstance(turn_id, UUID)
    assert isinstance(session_id, UUID)
    return turn_id, session_id


def _nowhere(_: float) -> Any:
    raise AssertionError("this tool needs no database")
