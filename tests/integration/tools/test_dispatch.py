"""Long calls off the turn's path: carried out once, fenced, watched, and told to their conversation once."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from parlour.conversations.tool_result_messages import store_tool_result
from parlour.infra.errors import (
    AnswersLater,
    Conflict,
    Forbidden,
    LeaseHeld,
    LeaseLost,
    NotFound,
    OutcomeUnknown,
    QueueUnavailable,
)
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.jobs import renewal
from parlour.jobs.renewal import VISIBILITY_SECONDS
from parlour.principal import Principal
from parlour.tools import calls
from parlour.tools.dispatch import dispatch_call
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer
from tests.integration.conversations.test_commit_retries import LosingItsAnswers
from tests.long_tool_harness import LongToolHarness, ProcessKilled


@pytest.fixture
def yard(conversation: ConversationHarness, open_database: Callable[[], Database]) -> LongToolHarness:
    return LongToolHarness(conversation, open_database)


@pytest.fixture
def losing_answers() -> Iterator[Callable[[Database], LosingItsAnswers]]:
    """A second way to a database, closed at the end."""
    with ExitStack() as opened:

        def open_one(real: Database) -> LosingItsAnswers:
            losing = LosingItsAnswers(real)
            opened.callback(losing.close)
            return losing

        yield open_one


def test_a_long_call_is_carried_out_and_resumes_its_conversation(yard: LongToolHarness) -> None:
    call_id = yard.begin_call()
    assert len(yard.due_times()) == 1
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results()), yard.due_times()) == (
        ("done", None),
        1,
        1,
        [],
    )
    assert '"number":1' in str(yard.tool_results()[0])
    assert [told.queue_channel for told in yard.sent_wakes] == ["whatsapp"]
    yard.conversation.model.script = [text_answer("The report is there.")]
    yard.conversation.run_turn()
    assert yard.conversation.model.script == []


def test_a_message_that_comes_again_does_nothing_twice(yard: LongToolHarness) -> None:
    call_id = yard.begin_call()
    yard.wake_error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        yard.dispatch_call(call_id)
    yard.wake_error = None
    yard.dispatch_call(call_id)
    yard.dispatch_call(call_id)
    assert (len(yard.performed_keys), len(yard.tool_results())) == (1, 1)
    assert yard.sent_wakes


def test_the_tool_acts_for_the_user_with_a_database_of_its_own(yard: LongToolHarness) -> None:
    seen: list[ToolContext] = []

    def look(context: ToolContext) -> None:
        seen.append(context)
        with context.database.transaction(context.principal):
            pass

    yard.before_result = look
    yard.dispatch_call(yard.begin_call())
    assert yard.call_state() == ("done", None)
    assert seen[0].principal.kind == "user"
    assert seen[0].principal.clearance == 1
    assert seen[0].database is not yard.conversation.database


def test_the_tool_knows_what_the_conversation_is_about_and_which_team_answers(yard: LongToolHarness) -> None:
    seen: list[ToolContext] = []
    yard.before_result = seen.append
    call_id = yard.begin_call()
    ((about, team),) = yard.conversation.query(
        "UPDATE sessions s SET entity_id = e.id FROM entities e, bindings b WHERE e.key = 'NRS' AND b.id = s.binding_id"
        " RETURNING e.id, b.team_id"
    )
    yard.dispatch_call(call_id)
    assert (seen[0].entity_id, seen[0].team_id) == (about, team)


def test_a_call_whose_worker_died_is_left_alone_until_that_worker_is_given_up(yard: LongToolHarness) -> None:
    call_id = yard.begin_call(idempotent=True)
    yard.kill_dispatcher(call_id)
    assert yard.call_state() == ("running", None)
    with pytest.raises(LeaseHeld) as held:
        yard.dispatch_call(call_id)
    assert held.value.retry_after is not None
    assert 1 <= held.value.retry_after <= VISIBILITY_SECONDS
    yard.conversation.clock.now += timedelta(seconds=VISIBILITY_SECONDS)
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(set(yard.performed_keys))) == (("done", None), 1)


def test_a_call_is_its_workers_for_as_long_as_that_one_lives(
    yard: LongToolHarness, open_database: Callable[[], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(renewal, "RENEWAL_SECONDS", 0.01)
    call_id, other = yard.begin_call(), open_database()

    def outlast_the_first_lease(_: ToolContext) -> None:
        yard.before_result = _die
        yard.conversation.clock.now += timedelta(seconds=60)
        time.sleep(0.5)
        with pytest.raises(LeaseHeld):
            yard.dispatch_call(call_id, other)

    yard.before_result = outlast_the_first_lease
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (("done", None), 1, 1)


@pytest.mark.parametrize(
    ("flags", "found", "times", "state"),
    [
        ({}, None, 1, "unknown"),
        ({"idempotent": True}, None, 2, "done"),
        ({"writes": False}, None, 2, "done"),
        ({"lookup": "python:found"}, {"number": 1}, 1, "done"),
        ({"lookup": "python:found"}, None, 2, "done"),
    ],
)
def test_a_call_whose_worker_died_is_settled_as_its_tool_allows(
    yard: LongToolHarness, flags: dict[str, bool | str], found: JsonObject | None, times: int, state: str
) -> None:
    call_id = yard.begin_call(**flags)
    yard.lookup_result = found
    yard.kill_dispatcher(call_id)
    yard.conversation.clock.now += timedelta(seconds=901)
    yard.dispatch_call(call_id)
    assert (
        yard.call_state()[0],
        len(yard.performed_keys),
        len(set(yard.performed_keys)),
        len(yard.tool_results()),
    ) == (state, times, 1, 1)


def test_a_worker_that_was_overtaken_writes_nothing(
    yard: LongToolHarness, open_database: Callable[[], Database]
) -> None:
    call_id = yard.begin_call(idempotent=True)

    def stalled(_: ToolContext) -> None:
        yard.before_result = lambda _: None
        yard.conversation.clock.now += timedelta(seconds=901)
        yard.dispatch_call(call_id, open_database())

    yard.before_result = stalled
    with pytest.raises(LeaseLost):
        yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.tool_results())) == (("done", None), 1)


def test_a_worker_that_was_overtaken_ends_nothing_that_another_has_begun(
    yard: LongToolHarness, open_database: Callable[[], Database]
) -> None:
    call_id = yard.begin_call(idempotent=True)

    def stalled(_: ToolContext) -> None:
        yard.before_result = _die
        yard.conversation.clock.now += timedelta(seconds=901)
        with pytest.raises(ProcessKilled):
            yard.dispatch_call(call_id, open_database())

    yard.before_result = stalled
    with pytest.raises(LeaseLost):
        yard.dispatch_call(call_id)
    assert (yard.call_state(), yard.tool_results()) == (("running", None), [])

    def takes_it_then(context: ToolContext) -> None:
        stalled(context)
        raise AnswersLater

    yard.conversation.clock.now += timedelta(seconds=901)
    yard.before_result = takes_it_then
    yard.dispatch_call(call_id)
    assert (yard.call_state(), yard.sent_delayed) == (("running", None), [])


def test_a_worker_that_was_overtaken_before_it_began_calls_nobody(
    yard: LongToolHarness, open_database: Callable[[], Database]
) -> None:
    call_id = yard.begin_call()

    def stalled(*_: object) -> str:
        yard.before_result = _die
        yard.conversation.clock.now += timedelta(seconds=901)
        with pytest.raises(ProcessKilled):
            yard.dispatch_call(call_id, open_database())
        yard.before_result = lambda _: None
        return ""

    late = replace(yard.make_dependencies(), callback_url=stalled)
    with pytest.raises(LeaseLost):
        dispatch_call(late, yard.conversation.tenant_id, call_id, lambda: 900.0)
    assert (yard.call_state(), len(yard.performed_keys)) == (("running", None), 1)


def test_a_tool_that_is_gone_is_told_as_such(yard: LongToolHarness) -> None:
    call_id = yard.begin_call()
    yard.conversation.query("DELETE FROM tools WHERE name = 'compile' RETURNING id")
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.tool_results())) == (("failed", "unknown_tool"), 1)


def test_a_call_that_is_gone_is_nobodys_work(yard: LongToolHarness) -> None:
    yard.dispatch_call(uuid7(yard.conversation.clock()))
    assert yard.sent_wakes == []


@pytest.mark.parametrize(
    ("writes", "state"), [(False, ("failed", "cancelled")), (True, ("unknown", "outcome_unknown"))]
)
def test_a_call_under_way_is_stopped_within_seconds(
    yard: LongToolHarness, open_database: Callable[[], Database], writes: bool, state: tuple[str, str]
) -> None:
    call_id = yard.begin_call(writes=writes)
    other = open_database()

    def cancel() -> None:
        with other.transaction(yard.conversation.tenant_id) as tx:
            assert calls.cancel_call(yard.conversation.admin, tx, call_id, yard.conversation.clock.now) is None

    def wait_for_the_end(context: ToolContext) -> None:
        threading.Timer(0.2, cancel).start()
        while not context.connection.is_cancelled:
            time.sleep(0.05)
        raise OutcomeUnknown

    yard.before_result = wait_for_the_end
    began = time.monotonic()
    yard.dispatch_call(call_id)
    assert time.monotonic() - began < 4
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (state, 1, 1)


def test_a_call_that_is_out_of_time_is_given_up(yard: LongToolHarness) -> None:
    call_id = yard.begin_call(timeout_seconds=1, writes=False)
    yard.before_result = lambda context: time.sleep(10)
    began = time.monotonic()
    yard.dispatch_call(call_id)
    assert time.monotonic() - began < 9
    assert yard.call_state() == ("failed", "timed_out")


def test_a_call_that_has_not_begun_is_cancelled_at_once(yard: LongToolHarness) -> None:
    call_id = yard.begin_call()
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx:
        ended = calls.cancel_call(yard.conversation.admin, tx, call_id, yard.conversation.clock())
    assert ended is not None
    assert (ended.state, ended.result["code"]) == ("failed", "cancelled")
    yard.dispatch_call(call_id)
    assert yard.performed_keys == []
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx, pytest.raises(Conflict):
        calls.cancel_call(yard.conversation.admin, tx, call_id, yard.conversation.clock())


def later(yard: LongToolHarness, **flags: bool | str | int) -> tuple[UUID, str]:
    """The tool took the call and answers later: the call, and where the answer goes."""

    def takes(_: ToolContext) -> None:
        raise AnswersLater

    call_id = yard.begin_call(timeout_seconds=86_400, **flags)
    yard.before_result = takes
    yard.dispatch_call(call_id)
    return call_id, yard.callback_urls[-1]


def test_a_tool_may_answer_hours_later_and_twice(yard: LongToolHarness) -> None:
    call_id, url = later(yard)
    assert (yard.call_state(), yard.tool_results()) == (("running", "accepted"), [])
    ((body, seconds),) = yard.sent_delayed
    assert (body["kind"], body["id"]) == ("tool_call", str(call_id))
    assert 86_399 < seconds <= 86_400
    yard.conversation.clock.now += timedelta(hours=5)
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys)) == (("running", "accepted"), 1)
    for _ in range(2):
        assert yard.post_callback(url, {"pages": 12}).state == "done"
    assert (yard.call_state(), len(yard.tool_results()), yard.due_times()) == (("done", None), 1, [])


def test_a_tool_may_say_later_that_it_could_not(yard: LongToolHarness) -> None:
    _, url = later(yard)
    assert yard.post_callback(url, {"error": "no such project"}).state == "failed"
    assert yard.call_state() == ("failed", "rejected")


@pytest.mark.parametrize(
    ("flags", "found", "state"),
    [
        ({}, None, ("unknown", "timed_out")),
        ({"writes": False}, None, ("failed", "timed_out")),
        ({"lookup": "python:found"}, {"pages": 12}, ("done", None)),
        ({"lookup": "python:found"}, None, ("unknown", "timed_out")),
    ],
)
def test_a_tool_that_never_answers_is_not_called_again(
    yard: LongToolHarness, flags: dict[str, bool | str], found: JsonObject | None, state: tuple[str, str | None]
) -> None:
    call_id, _ = later(yard, **flags)
    yard.lookup_result = found
    yard.conversation.clock.now += timedelta(days=1, seconds=1)
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (state, 1, 1)


def test_a_late_answer_settles_what_was_in_doubt_and_is_told_anew(yard: LongToolHarness) -> None:
    call_id, url = later(yard)
    yard.conversation.clock.now += timedelta(days=1, seconds=1)
    yard.dispatch_call(call_id)
    assert yard.post_callback(url, {"pages": 12}).state == "done"
    assert len(yard.tool_results()) == 2
    yard.post_callback(url, {"pages": 13})
    assert (yard.call_state(), len(yard.tool_results())) == (("done", None), 2)


def test_a_worker_that_dies_at_an_overdue_call_is_waited_for_like_any_other(yard: LongToolHarness) -> None:
    call_id, _ = later(yard, lookup="python:found")
    yard.conversation.clock.now += timedelta(days=1, seconds=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parlour.tools.dispatch.effects.resolve_overdue", _die)
        with pytest.raises(ProcessKilled):
            yard.dispatch_call(call_id)
    with pytest.raises(LeaseHeld):
        yard.dispatch_call(call_id)
    yard.conversation.clock.now += timedelta(seconds=901)
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (("unknown", "timed_out"), 1, 1)


def test_a_tools_own_word_settles_a_call_whose_worker_died_before_it_was_noted_as_taken(yard: LongToolHarness) -> None:
    call_id = in_doubt(yard)
    assert yard.post_callback(yard.callback_urls[-1], {"error": "try again"}).state == "unknown"
    assert yard.post_callback(yard.callback_urls[-1], {"pages": 12}).state == "done"
    assert (yard.call_state(), yard.performed_keys[1:], len(yard.tool_results())) == (("done", None), [], 2)
    yard.dispatch_call(call_id)
    assert len(yard.tool_results()) == 2


def _die(*_: object) -> None:
    raise ProcessKilled


def test_a_call_that_the_tool_took_is_cancelled_at_once(yard: LongToolHarness) -> None:
    call_id, url = later(yard)
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx:
        ended = calls.cancel_call(yard.conversation.admin, tx, call_id, yard.conversation.clock())
    assert ended is not None
    assert ended.state == "unknown"
    assert yard.post_callback(url, {"pages": 12}).state == "done"


@pytest.mark.parametrize(
    ("flags", "found", "state"),
    [
        ({"writes": False}, None, ("failed", "cancelled")),
        ({}, None, ("unknown", "outcome_unknown")),
        ({"lookup": "python:found"}, None, ("unknown", "outcome_unknown")),
        ({"lookup": "python:found"}, {"pages": 12}, ("done", None)),
    ],
)
def test_a_call_that_is_cancelled_just_when_the_tool_takes_it_is_settled_at_once(
    yard: LongToolHarness,
    open_database: Callable[[], Database],
    flags: dict[str, bool | str],
    found: JsonObject | None,
    state: tuple[str, str | None],
) -> None:
    """Who cancels finds the dispatcher at it; the tool answers that it has the call before anybody looks."""
    call_id = yard.begin_call(timeout_seconds=86_400, **flags)
    yard.lookup_result = found
    other = open_database()

    def cancelled_and_taken(_: ToolContext) -> None:
        with other.transaction(yard.conversation.tenant_id) as tx:
            assert calls.cancel_call(yard.conversation.admin, tx, call_id, yard.conversation.clock.now) is None
        raise AnswersLater

    yard.before_result = cancelled_and_taken
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (state, 1, 1)
    assert (yard.due_times(), yard.sent_delayed) == ([], [])
    if state[0] == "unknown":
        assert yard.post_callback(yard.callback_urls[-1], {"pages": 12}).state == "done"


@pytest.mark.parametrize("flags", [{"idempotent": True}, {"lookup": "python:found"}])
def test_a_run_whose_taking_was_committed_without_an_answer_is_the_dispatchers_own(
    yard: LongToolHarness, losing_answers: Callable[[Database], Database], flags: dict[str, bool | str]
) -> None:
    call_id = yard.begin_call(**flags)
    yard.kill_dispatcher(call_id)
    yard.conversation.clock.now += timedelta(seconds=901)
    yard.dispatch_call(call_id, losing_answers(yard.conversation.database))
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (("done", None), 2, 1)
    assert yard.conversation.query("SELECT run_token FROM tool_calls") == [(2,)]


def test_an_overdue_call_whose_taking_was_committed_without_an_answer_is_settled_all_the_same(
    yard: LongToolHarness, losing_answers: Callable[[Database], Database]
) -> None:
    call_id, _ = later(yard)
    yard.conversation.clock.now += timedelta(days=1, seconds=1)
    yard.dispatch_call(call_id, losing_answers(yard.conversation.database))
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (("unknown", "timed_out"), 1, 1)


def in_doubt(yard: LongToolHarness) -> UUID:
    call_id = yard.begin_call()
    yard.kill_dispatcher(call_id)
    yard.conversation.clock.now += timedelta(seconds=901)
    yard.dispatch_call(call_id)
    assert yard.call_state()[0] == "unknown"
    return call_id


def test_a_person_says_that_it_was_done(yard: LongToolHarness) -> None:
    call_id = in_doubt(yard)
    admin, now = yard.conversation.admin, yard.conversation.clock()
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx:
        (unknown,) = calls.list_unknown(admin, tx, 10)
        assert (unknown.id, unknown.name, unknown.runs) == (call_id, "compile", 1)
        ended = calls.resolve_call(admin, tx, call_id, "done", now)
        assert ended is not None
        assert store_tool_result(tx, yard.conversation.tenant_id, ended, now)
        assert calls.list_unknown(admin, tx, 10) == []
    assert (yard.call_state(), len(yard.performed_keys), len(yard.tool_results())) == (("done", None), 1, 2)
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx, pytest.raises(Conflict):
        calls.resolve_call(admin, tx, call_id, "run_again", now)
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx, pytest.raises(NotFound):
        calls.resolve_call(admin, tx, uuid7(now), "done", now)


def test_a_person_has_it_run_again_under_the_same_key(yard: LongToolHarness) -> None:
    call_id = in_doubt(yard)
    with yard.conversation.database.transaction(yard.conversation.tenant_id) as tx:
        assert calls.resolve_call(yard.conversation.admin, tx, call_id, "run_again", yard.conversation.clock()) is None
    assert len(yard.due_times()) == 1
    yard.dispatch_call(call_id)
    assert (yard.call_state(), len(yard.performed_keys), len(set(yard.performed_keys))) == (("done", None), 2, 1)
    assert len(yard.tool_results()) == 2
    assert yard.conversation.query("SELECT runs, resolved_by FROM tool_calls") == [(2, "operator")]


def test_nobody_decides_without_the_right(yard: LongToolHarness) -> None:
    nobody = Principal(yard.conversation.tenant_id, "member", uuid7(yard.conversation.clock()))
    viewer = replace(nobody, roles=frozenset({"viewer"}))
    now = yard.conversation.clock()
    acts: list[tuple[Principal, Callable[[Principal, Transaction], object]]] = [
        (nobody, lambda who, tx: calls.list_unknown(who, tx, 10)),
        (viewer, lambda who, tx: calls.resolve_call(who, tx, uuid7(now), "done", now)),
        (viewer, lambda who, tx: calls.cancel_call(who, tx, uuid7(now), now)),
    ]
    for who, act in acts:
        with yard.conversation.database.transaction(who) as tx, pytest.raises(Forbidden):
            act(who, tx)
