"""Unknown outcomes, held replies and failed turns are conversations of the inbox, until a person has decided."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.channels import outbox
from parlour.channels.send import Providers, send_reply
from parlour.conversations import canned_replies, failed_turns, inbox_messages, stop_requests
from parlour.conversations.rows import StopCause
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.inbox import events, threads
from parlour.infra.errors import Conflict
from parlour.infra.ids import uuid7
from parlour.notifications import notifications
from parlour.principal import Principal
from parlour.tools import calls
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer, tool_call
from tests.integration.channels.test_send import Phone
from tests.integration.inbox.test_threads import add_member, open_for_person, run_clock, say, session_of, take

_PEOPLE = """UPDATE bindings SET inbox = '{"service": {"waiting_minutes": 10}}' RETURNING id"""
_THREAD = "SELECT state, reason FROM inbox_threads"


def let_people_answer(conversation: ConversationHarness) -> None:
    conversation.query(_PEOPLE)


def page_the_foreman(conversation: ConversationHarness) -> UUID:
    """A turn whose effect has an unknown outcome; return the call."""

    def lose_the_answer(_context: ToolContext, _arguments: object) -> dict[str, object]:
        raise TimeoutError

    conversation.add_tool("page", lose_the_answer, writes=True)  # type: ignore[arg-type]
    conversation.send_whatsapp("Page the foreman", "page")
    conversation.model.script = [tool_call("page"), text_answer("I do not know whether it arrived.")]
    conversation.run_turn()
    ((call_id,),) = conversation.query("SELECT id FROM tool_calls WHERE state = 'unknown'")
    assert isinstance(call_id, UUID)
    return call_id


def hold_a_reply(conversation: ConversationHarness) -> tuple[UUID, UUID]:
    """A reply that the channel takes no longer; return its session and its row."""
    conversation.send_whatsapp("When does the crane come?", "first")
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    conversation.query("UPDATE bindings SET channels = channels #- '{whatsapp,templates}' RETURNING id")
    conversation.clock.now += timedelta(hours=25)
    ((row,),) = conversation.query("SELECT id FROM outbox")
    assert isinstance(row, UUID)
    now = conversation.clock()
    not_asked: Providers = {"gupshup": Phone()}
    sent = send_reply(conversation.admin, conversation.database, not_asked, row, uuid7(now), now, lambda: 60.0)
    assert sent.state == "held"
    return session_of(conversation), row


def test_what_has_to_be_decided_is_listed_to_nobody_below_its_sessions_clearance(
    conversation: ConversationHarness,
) -> None:
    """A reader who may not open a conversation reads no reply, call or notification of it in a list either."""
    page_the_foreman(conversation)
    session_id, now = session_of(conversation), conversation.clock()
    conversation.query("UPDATE outbox SET state = 'held' RETURNING id")
    conversation.query(
        "INSERT INTO notifications (tenant_id, id, event_id, session_id, event, reason, medium, recipient, state, "
        f"created_at) VALUES (current_tenant(), '{uuid7(now)}', '{uuid7(now)}', '{session_id}', 'opened', 'asked', "
        "'email', 'a@b.example', 'failed', now()) RETURNING id"
    )

    def listed(reader: Principal) -> tuple[int, int, int]:
        with conversation.database.transaction(reader) as tx:
            return (
                len(outbox.list_needing_decision(reader, tx, 10)),
                len(calls.list_unknown(reader, tx, 10)),
                len(notifications.list_problems(reader, tx, 10)),
            )

    reader = replace(conversation.admin, clearance=2)
    assert listed(reader) == (1, 1, 1)
    conversation.query(
        "WITH about AS (UPDATE entities SET classification = 3 WHERE name LIKE '%crack%' RETURNING id) "
        "UPDATE sessions SET entity_id = (SELECT id FROM about LIMIT 1) RETURNING id"
    )
    assert listed(reader) == (0, 0, 0)
    assert listed(conversation.admin) == (1, 1, 1)


def fail_turn(conversation: ConversationHarness) -> None:
    """Run what waits until its turn has failed."""
    for _ in range(3):
        conversation.model.script = [RuntimeError("broken")]
        with suppress(RuntimeError):
            conversation.run_turn()
        conversation.clock.now += timedelta(minutes=5)


def undecided(conversation: ConversationHarness) -> list[tuple[str, str, int]]:
    """State, reason and number of undecided items of what the inbox lists as waiting."""
    who = conversation.admin
    wanted = threads.ThreadFilter(states=["waiting"], undecided=True)
    with conversation.database.transaction(who) as tx:
        rows = threads.list_threads(who, tx, wanted, 10).rows
    return [(row.thread.state, row.thread.reason, row.undecided_count) for row in rows]


def resolve_call(conversation: ConversationHarness, call_id: UUID) -> PendingWakeup | None:
    now = conversation.clock()
    with conversation.database.transaction(conversation.admin) as tx:
        ended = calls.resolve_call(conversation.admin, tx, call_id, "done", now)
        assert ended
        return store_tool_result(tx, conversation.tenant_id, ended, now)


def test_an_agent_goes_on_after_a_person_decided_about_its_effect(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    call_id = page_the_foreman(conversation)
    assert undecided(conversation) == [("waiting", "unknown_effect", 1)]
    resolve_call(conversation, call_id)
    assert conversation.query(_THREAD) == [("agent", "unknown_effect")]
    conversation.model.script = [text_answer("It arrived.")]
    conversation.run_turn()
    assert conversation.model.script == []
    assert undecided(conversation) == []


@pytest.mark.parametrize("cause", ["user", "message"])
def test_a_stopped_turn_with_an_unknown_effect_waits_for_a_decision_only(
    conversation: ConversationHarness, cause: StopCause
) -> None:
    let_people_answer(conversation)

    def stop_and_lose_the_answer(context: ToolContext, _arguments: object) -> dict[str, object]:
        own = conversation.database.clone()
        with own.transaction(conversation.tenant_id) as tx:
            stop_requests.stop_turn(
                tx, conversation.tenant_id, context.session_id, context.turn_id, cause, conversation.clock()
            )
        own.close()
        raise TimeoutError

    conversation.add_tool("page", stop_and_lose_the_answer, writes=True)  # type: ignore[arg-type]
    conversation.send_whatsapp("Page the foreman", "page")
    conversation.model.script = [tool_call("page")]
    conversation.run_turn()
    assert conversation.query("SELECT state, stop_cause FROM turns") == [("stopped", cause)]
    assert undecided(conversation) == [("waiting", "unknown_effect", 1)]
    ((sent,),) = conversation.query("SELECT m.body FROM outbox o JOIN messages m ON m.id = o.message_id")
    assert str(sent).endswith(canned_replies.PERSON_CHECKS_REPLY)
    assert ("Stopped." in str(sent)) is (cause == "user")

    conversation.send_whatsapp("Did you?", "held")
    ((call_id,),) = conversation.query("SELECT id FROM tool_calls WHERE state = 'unknown'")
    assert isinstance(call_id, UUID)
    wakeup = resolve_call(conversation, call_id)
    assert wakeup
    assert conversation.query(_THREAD) == [("agent", "unknown_effect")]
    conversation.turns.send([wakeup.message])
    conversation.model.script = [text_answer("I did.")]
    conversation.run_turn()
    assert conversation.model.script == []


def test_a_conversation_that_a_person_has_stays_theirs_after_a_decision(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    call_id, asha = page_the_foreman(conversation), add_member(conversation, "Asha")
    take(conversation, asha, session_of(conversation))
    resolve_call(conversation, call_id)
    assert conversation.query(_THREAD) == [("person", "unknown_effect")]


def test_a_conversation_in_which_a_person_wrote_waits_on_after_a_decision(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    call_id, asha = page_the_foreman(conversation), add_member(conversation, "Asha")
    session_id = session_of(conversation)
    say(conversation, asha, session_id, "I will call them.", take(conversation, asha, session_id).claim)
    with conversation.database.transaction(asha) as tx:
        threads.release(asha, tx, session_id, conversation.clock())
    resolve_call(conversation, call_id)
    assert conversation.query(_THREAD) == [("waiting", "unknown_effect")]


def test_a_redrive_leaves_a_conversation_waiting_for_which_somebody_asked(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("When does the crane come?", "first")
    fail_turn(conversation)
    session_id, admin = session_of(conversation), conversation.admin
    with conversation.database.transaction(admin) as tx:
        inbox_messages.open_thread(admin, tx, session_id, "member", "They called.", conversation.clock())
        ((turn_id,),) = tx._connection.execute(b"SELECT id FROM turns WHERE state = 'failed'").fetchall()
        wakeup = failed_turns.redrive_turn(admin, tx, turn_id, conversation.clock())
    conversation.turns.send([wakeup.message])
    assert conversation.query(_THREAD) == [("waiting", "member")]
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    assert (conversation.model.script, undecided(conversation)) == ([], [("waiting", "member", 0)])


def test_an_agent_goes_on_after_the_last_unknown_reply_was_delivered(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    call_id = page_the_foreman(conversation)
    conversation.query("UPDATE outbox SET state = 'unknown' RETURNING id")
    resolve_call(conversation, call_id)
    run_clock(conversation, session_of(conversation))
    assert undecided(conversation) == [("waiting", "unknown_effect", 1)]
    conversation.query("UPDATE outbox SET state = 'delivered' RETURNING id")
    run_clock(conversation, session_of(conversation))
    assert conversation.query(_THREAD) == [("agent", "unknown_effect")]
    conversation.model.script = [text_answer("It arrived.")]
    conversation.run_turn()
    assert conversation.model.script == []


def test_without_an_inbox_the_agent_goes_on_and_the_item_is_listed(conversation: ConversationHarness) -> None:
    page_the_foreman(conversation)
    assert undecided(conversation) == [("agent", "unknown_effect", 1)]
    with conversation.database.transaction(conversation.admin) as tx:
        counts = threads.count_threads(conversation.admin, tx)
    assert (counts.waiting, counts.undecided) == (0, 1)


def test_a_held_reply_brings_its_conversation_until_it_is_dismissed(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    session_id, row = hold_a_reply(conversation)
    assert undecided(conversation) == [("agent", "held_reply", 1)]
    run_clock(conversation, session_id)
    assert undecided(conversation) == [("waiting", "held_reply", 1)]
    assert conversation.query("SELECT count(*) FROM outbox") == [(1,)], "no notice that would be held as well"
    now = conversation.clock()
    with conversation.database.transaction(conversation.admin) as tx:
        outbox.resolve_reply(conversation.admin, tx, row, "dismiss", now)
        wakeup = inbox_messages.settle(tx, conversation.tenant_id, session_id, now)
    assert wakeup
    assert conversation.query(_THREAD) == [("agent", "held_reply")]
    run_clock(conversation, session_id)
    assert undecided(conversation) == []


def test_a_closed_conversation_returns_for_a_reply_that_is_held_afterwards(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    session_id, _ = hold_a_reply(conversation)
    run_clock(conversation, session_id)
    conversation.clock.now += timedelta(minutes=1)
    with conversation.database.transaction(conversation.admin) as tx:
        inbox_messages.close(conversation.admin, tx, session_id, conversation.clock())
    conversation.clock.now += timedelta(minutes=10)
    run_clock(conversation, session_id)
    assert conversation.query(_THREAD) == [("done", "held_reply")]
    conversation.query(f"UPDATE outbox SET status_at = '{conversation.clock()}' WHERE state = 'held' RETURNING id")
    run_clock(conversation, session_id)
    assert conversation.query(_THREAD) == [("waiting", "held_reply")]


def test_a_held_reply_brings_a_conversation_with_an_older_undecided_item(conversation: ConversationHarness) -> None:
    page_the_foreman(conversation)
    let_people_answer(conversation)
    conversation.query("UPDATE outbox SET state = 'held', status_at = now() RETURNING id")
    assert undecided(conversation) == [("agent", "unknown_effect", 2)]
    run_clock(conversation, session_of(conversation))
    assert conversation.query(_THREAD) == [("waiting", "held_reply")]


def test_a_redrive_hands_a_conversation_back_unless_somebody_has_it(conversation: ConversationHarness) -> None:
    let_people_answer(conversation)
    conversation.send_whatsapp("When does the crane come?", "first")
    fail_turn(conversation)
    assert undecided(conversation) == [("waiting", "failed_turn", 1)]
    ((turn_id,),) = conversation.query("SELECT id FROM turns WHERE state = 'failed'")
    assert isinstance(turn_id, UUID)
    session_id, asha = session_of(conversation), add_member(conversation, "Asha")
    take(conversation, asha, session_id)
    with (
        pytest.raises(Conflict, match="Asha has this conversation"),
        conversation.database.transaction(conversation.admin) as tx,
    ):
        failed_turns.redrive_turn(conversation.admin, tx, turn_id, conversation.clock())
    with conversation.database.transaction(asha) as tx:
        threads.release(asha, tx, session_id, conversation.clock())
    with conversation.database.transaction(conversation.admin) as tx:
        wakeup = failed_turns.redrive_turn(conversation.admin, tx, turn_id, conversation.clock())
    conversation.turns.send([wakeup.message])
    assert conversation.query("SELECT state FROM inbox_threads") == [("agent",)]
    conversation.model.script = [text_answer("On Monday.")]
    conversation.run_turn()
    assert conversation.query("SELECT count(*) FROM turns WHERE state = 'failed'") == [(0,)]


def test_a_conversation_that_moved_to_a_confidential_desk_is_not_listed_below(
    conversation: ConversationHarness,
) -> None:
    open_for_person(conversation)
    conversation.query("UPDATE sessions SET answering_clearance = 3 RETURNING id")
    for clearance, count in ((2, 0), (3, 1)):
        reader = replace(add_member(conversation, f"reader {clearance}", "viewer"), clearance=clearance)
        with conversation.database.transaction(reader) as tx:
            assert len(threads.list_threads(reader, tx, threads.ThreadFilter(), 10).rows) == count
            assert threads.count_threads(reader, tx).waiting == count
            assert bool(events.list_events_after(reader, tx, 0, 10)) == bool(count)
