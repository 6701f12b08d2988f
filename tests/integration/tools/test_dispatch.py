"""Long calls off the turn's path: carried out once, fenced, watched, and told to their conversation once."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

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
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.tools import calls
from parlour.tools.dispatch import dispatch
from parlour.tools.run import ToolContext
from parlour.turns.resume import tool_ended
from tests.desk import Desk, says
from tests.integration.turns.test_repeats import LosingItsAnswers
from tests.yard import Killed, Yard


@pytest.fixture
def yard(desk: Desk, open_database: Callable[[], Database]) -> Yard:
    return Yard(desk, open_database)


@pytest.fixture
def losing_answers() -> Iterator[Callable[[Database], LosingItsAnswers]]:
    """A second way to a database, closed at the end."""
    with ExitStack() as opened:

        def open_one(real: Database) -> LosingItsAnswers:
            losing = LosingItsAnswers(real)
            opened.callback(losing.close)
            return losing

        yield open_one


def test_a_long_call_is_carried_out_and_resumes_its_conversation(yard: Yard) -> None:
    call_id = yard.begin()
    assert len(yard.due()) == 1
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.done), len(yard.told()), yard.due()) == (("done", None), 1, 1, [])
    assert '"number":1' in str(yard.told()[0])
    assert [told.channel for told in yard.woken] == ["whatsapp"]
    yard.desk.model.script = [says("The report is there.")]
    yard.desk.run()
    assert yard.desk.model.script == []


def test_a_message_that_comes_again_does_nothing_twice(yard: Yard) -> None:
    call_id = yard.begin()
    yard.broken = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        yard.dispatch(call_id)
    yard.broken = None
    yard.dispatch(call_id)
    yard.dispatch(call_id)
    assert (len(yard.done), len(yard.told())) == (1, 1)
    assert yard.woken


def test_the_tool_acts_for_the_user_with_a_database_of_its_own(yard: Yard) -> None:
    seen: list[ToolContext] = []

    def look(context: ToolContext) -> None:
        seen.append(context)
        with context.database.transaction(context.principal):
            pass

    yard.during = look
    yard.dispatch(yard.begin())
    assert yard.state() == ("done", None)
    assert seen[0].principal.kind == "user"
    assert seen[0].principal.clearance == 1
    assert seen[0].database is not yard.desk.database


def test_the_tool_knows_what_the_conversation_is_about_and_which_team_answers(yard: Yard) -> None:
    seen: list[ToolContext] = []
    yard.during = seen.append
    call_id = yard.begin()
    ((about, team),) = yard.desk.rows(
        "UPDATE sessions s SET entity_id = e.id FROM entities e, bindings b WHERE e.key = 'NRS' AND b.id = s.binding_id"
        " RETURNING e.id, b.team_id"
    )
    yard.dispatch(call_id)
    assert (seen[0].entity_id, seen[0].team_id) == (about, team)


def test_a_call_whose_worker_died_is_left_alone_until_that_worker_is_given_up(yard: Yard) -> None:
    call_id = yard.begin()
    yard.kill(call_id)
    assert yard.state() == ("running", None)
    with pytest.raises(LeaseHeld) as held:
        yard.dispatch(call_id)
    assert held.value.after is not None
    assert 890 < held.value.after <= 901


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
    yard: Yard, flags: dict[str, bool | str], found: JsonObject | None, times: int, state: str
) -> None:
    call_id = yard.begin(**flags)
    yard.found = found
    yard.kill(call_id)
    yard.desk.clock.now += timedelta(seconds=901)
    yard.dispatch(call_id)
    assert (yard.state()[0], len(yard.done), len(set(yard.done)), len(yard.told())) == (state, times, 1, 1)


def test_a_worker_that_was_overtaken_writes_nothing(yard: Yard, open_database: Callable[[], Database]) -> None:
    call_id = yard.begin(idempotent=True)

    def stalled(_: ToolContext) -> None:
        yard.during = lambda _: None
        yard.desk.clock.now += timedelta(seconds=901)
        yard.dispatch(call_id, open_database())

    yard.during = stalled
    with pytest.raises(LeaseLost):
        yard.dispatch(call_id)
    assert (yard.state(), len(yard.told())) == (("done", None), 1)


def test_a_worker_that_was_overtaken_ends_nothing_that_another_has_begun(
    yard: Yard, open_database: Callable[[], Database]
) -> None:
    call_id = yard.begin(idempotent=True)

    def stalled(_: ToolContext) -> None:
        yard.during = _die
        yard.desk.clock.now += timedelta(seconds=901)
        with pytest.raises(Killed):
            yard.dispatch(call_id, open_database())

    yard.during = stalled
    with pytest.raises(LeaseLost):
        yard.dispatch(call_id)
    assert (yard.state(), yard.told()) == (("running", None), [])

    def takes_it_then(context: ToolContext) -> None:
        stalled(context)
        raise AnswersLater

    yard.desk.clock.now += timedelta(seconds=901)
    yard.during = takes_it_then
    yard.dispatch(call_id)
    assert (yard.state(), yard.delayed) == (("running", None), [])


def test_a_worker_that_was_overtaken_before_it_began_calls_nobody(
    yard: Yard, open_database: Callable[[], Database]
) -> None:
    call_id = yard.begin()

    def stalled(*_: object) -> str:
        yard.during = _die
        yard.desk.clock.now += timedelta(seconds=901)
        with pytest.raises(Killed):
            yard.dispatch(call_id, open_database())
        yard.during = lambda _: None
        return ""

    late = replace(yard.services(), callback_url=stalled)
    with pytest.raises(LeaseLost):
        dispatch(late, yard.desk.tenant_id, call_id, lambda: 900.0)
    assert (yard.state(), len(yard.done)) == (("running", None), 1)


def test_a_tool_that_is_gone_is_told_as_such(yard: Yard) -> None:
    call_id = yard.begin()
    yard.desk.rows("DELETE FROM tools WHERE name = 'compile' RETURNING id")
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.told())) == (("failed", "unknown_tool"), 1)


def test_a_call_that_is_gone_is_nobodys_work(yard: Yard) -> None:
    yard.dispatch(uuid7(yard.desk.clock()))
    assert yard.woken == []


@pytest.mark.parametrize(
    ("writes", "state"), [(False, ("failed", "cancelled")), (True, ("unknown", "outcome_unknown"))]
)
def test_a_call_under_way_is_stopped_within_seconds(
    yard: Yard, open_database: Callable[[], Database], writes: bool, state: tuple[str, str]
) -> None:
    call_id = yard.begin(writes=writes)
    other = open_database()

    def cancel() -> None:
        with other.transaction(yard.desk.tenant_id) as tx:
            assert calls.cancel(yard.desk.admin, tx, call_id, yard.desk.clock.now) is None

    def wait_for_the_end(context: ToolContext) -> None:
        threading.Timer(0.2, cancel).start()
        while not context.line.is_hung_up:
            time.sleep(0.05)
        raise OutcomeUnknown

    yard.during = wait_for_the_end
    began = time.monotonic()
    yard.dispatch(call_id)
    assert time.monotonic() - began < 4
    assert (yard.state(), len(yard.done), len(yard.told())) == (state, 1, 1)


def test_a_call_that_is_out_of_time_is_given_up(yard: Yard) -> None:
    call_id = yard.begin(timeout_seconds=1, writes=False)
    yard.during = lambda context: time.sleep(10)
    began = time.monotonic()
    yard.dispatch(call_id)
    assert time.monotonic() - began < 9
    assert yard.state() == ("failed", "timed_out")


def test_a_call_that_has_not_begun_is_cancelled_at_once(yard: Yard) -> None:
    call_id = yard.begin()
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx:
        ended = calls.cancel(yard.desk.admin, tx, call_id, yard.desk.clock())
    assert ended is not None
    assert (ended.state, ended.result["code"]) == ("failed", "cancelled")
    yard.dispatch(call_id)
    assert yard.done == []
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx, pytest.raises(Conflict):
        calls.cancel(yard.desk.admin, tx, call_id, yard.desk.clock())


def later(yard: Yard, **flags: bool | str | int) -> tuple[UUID, str]:
    """The tool took the call and answers later: the call, and where the answer goes."""

    def takes(_: ToolContext) -> None:
        raise AnswersLater

    call_id = yard.begin(timeout_seconds=86_400, **flags)
    yard.during = takes
    yard.dispatch(call_id)
    return call_id, yard.urls[-1]


def test_a_tool_may_answer_hours_later_and_twice(yard: Yard) -> None:
    call_id, url = later(yard)
    assert (yard.state(), yard.told()) == (("running", "taken"), [])
    ((body, seconds),) = yard.delayed
    assert (body["kind"], body["id"]) == ("tool_call", str(call_id))
    assert 86_399 < seconds <= 86_400
    yard.desk.clock.now += timedelta(hours=5)
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.done)) == (("running", "taken"), 1)
    for _ in range(2):
        assert yard.call_back(url, {"pages": 12}).state == "done"
    assert (yard.state(), len(yard.told()), yard.due()) == (("done", None), 1, [])


def test_a_tool_may_say_later_that_it_could_not(yard: Yard) -> None:
    _, url = later(yard)
    assert yard.call_back(url, {"error": "no such project"}).state == "failed"
    assert yard.state() == ("failed", "refused")


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
    yard: Yard, flags: dict[str, bool | str], found: JsonObject | None, state: tuple[str, str | None]
) -> None:
    call_id, _ = later(yard, **flags)
    yard.found = found
    yard.desk.clock.now += timedelta(days=1, seconds=1)
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.done), len(yard.told())) == (state, 1, 1)


def test_a_late_answer_settles_what_was_in_doubt_and_is_told_anew(yard: Yard) -> None:
    call_id, url = later(yard)
    yard.desk.clock.now += timedelta(days=1, seconds=1)
    yard.dispatch(call_id)
    assert yard.call_back(url, {"pages": 12}).state == "done"
    assert len(yard.told()) == 2
    yard.call_back(url, {"pages": 13})
    assert (yard.state(), len(yard.told())) == (("done", None), 2)


def test_a_worker_that_dies_at_an_overdue_call_is_waited_for_like_any_other(yard: Yard) -> None:
    call_id, _ = later(yard, lookup="python:found")
    yard.desk.clock.now += timedelta(days=1, seconds=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parlour.tools.dispatch.effects.overdue", _die)
        with pytest.raises(Killed):
            yard.dispatch(call_id)
    with pytest.raises(LeaseHeld):
        yard.dispatch(call_id)
    yard.desk.clock.now += timedelta(seconds=901)
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.done), len(yard.told())) == (("unknown", "timed_out"), 1, 1)


def test_a_tools_own_word_settles_a_call_whose_worker_died_before_it_was_noted_as_taken(yard: Yard) -> None:
    call_id = in_doubt(yard)
    assert yard.call_back(yard.urls[-1], {"error": "try again"}).state == "unknown"
    assert yard.call_back(yard.urls[-1], {"pages": 12}).state == "done"
    assert (yard.state(), yard.done[1:], len(yard.told())) == (("done", None), [], 2)
    yard.dispatch(call_id)
    assert len(yard.told()) == 2


def _die(*_: object) -> None:
    raise Killed


def test_a_call_that_the_tool_took_is_cancelled_at_once(yard: Yard) -> None:
    call_id, url = later(yard)
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx:
        ended = calls.cancel(yard.desk.admin, tx, call_id, yard.desk.clock())
    assert ended is not None
    assert ended.state == "unknown"
    assert yard.call_back(url, {"pages": 12}).state == "done"


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
    yard: Yard,
    open_database: Callable[[], Database],
    flags: dict[str, bool | str],
    found: JsonObject | None,
    state: tuple[str, str | None],
) -> None:
    """Who cancels finds the dispatcher at it; the tool answers that it has the call before anybody looks."""
    call_id = yard.begin(timeout_seconds=86_400, **flags)
    yard.found = found
    other = open_database()

    def cancelled_and_taken(_: ToolContext) -> None:
        with other.transaction(yard.desk.tenant_id) as tx:
            assert calls.cancel(yard.desk.admin, tx, call_id, yard.desk.clock.now) is None
        raise AnswersLater

    yard.during = cancelled_and_taken
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.done), len(yard.told())) == (state, 1, 1)
    assert (yard.due(), yard.delayed) == ([], [])
    if state[0] == "unknown":
        assert yard.call_back(yard.urls[-1], {"pages": 12}).state == "done"


@pytest.mark.parametrize("flags", [{"idempotent": True}, {"lookup": "python:found"}])
def test_a_run_whose_taking_was_committed_without_an_answer_is_the_dispatchers_own(
    yard: Yard, losing_answers: Callable[[Database], Database], flags: dict[str, bool | str]
) -> None:
    call_id = yard.begin(**flags)
    yard.kill(call_id)
    yard.desk.clock.now += timedelta(seconds=901)
    yard.dispatch(call_id, losing_answers(yard.desk.database))
    assert (yard.state(), len(yard.done), len(yard.told())) == (("done", None), 2, 1)
    assert yard.desk.rows("SELECT run_token FROM tool_calls") == [(2,)]


def test_an_overdue_call_whose_taking_was_committed_without_an_answer_is_settled_all_the_same(
    yard: Yard, losing_answers: Callable[[Database], Database]
) -> None:
    call_id, _ = later(yard)
    yard.desk.clock.now += timedelta(days=1, seconds=1)
    yard.dispatch(call_id, losing_answers(yard.desk.database))
    assert (yard.state(), len(yard.done), len(yard.told())) == (("unknown", "timed_out"), 1, 1)


def in_doubt(yard: Yard) -> UUID:
    call_id = yard.begin()
    yard.kill(call_id)
    yard.desk.clock.now += timedelta(seconds=901)
    yard.dispatch(call_id)
    assert yard.state()[0] == "unknown"
    return call_id


def test_a_person_says_that_it_was_done(yard: Yard) -> None:
    call_id = in_doubt(yard)
    admin, now = yard.desk.admin, yard.desk.clock()
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx:
        (unknown,) = calls.unknown(admin, tx, 10)
        assert (unknown.id, unknown.name, unknown.runs) == (call_id, "compile", 1)
        ended = calls.resolve(admin, tx, call_id, "done", now)
        assert ended is not None
        assert tool_ended(tx, yard.desk.tenant_id, ended, uuid7, now)
        assert calls.unknown(admin, tx, 10) == []
    assert (yard.state(), len(yard.done), len(yard.told())) == (("done", None), 1, 2)
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx, pytest.raises(Conflict):
        calls.resolve(admin, tx, call_id, "run_again", now)
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx, pytest.raises(NotFound):
        calls.resolve(admin, tx, uuid7(now), "done", now)


def test_a_person_has_it_run_again_under_the_same_key(yard: Yard) -> None:
    call_id = in_doubt(yard)
    with yard.desk.database.transaction(yard.desk.tenant_id) as tx:
        assert calls.resolve(yard.desk.admin, tx, call_id, "run_again", yard.desk.clock()) is None
    assert len(yard.due()) == 1
    yard.dispatch(call_id)
    assert (yard.state(), len(yard.done), len(set(yard.done))) == (("done", None), 2, 1)
    assert len(yard.told()) == 2
    assert yard.desk.rows("SELECT runs, resolved_by FROM tool_calls") == [(2, "operator")]


def test_nobody_decides_without_the_right(yard: Yard) -> None:
    nobody = Principal(yard.desk.tenant_id, "member", uuid7(yard.desk.clock()))
    viewer = replace(nobody, roles=frozenset({"viewer"}))
    now = yard.desk.clock()
    acts: list[tuple[Principal, Callable[[Principal, Transaction], object]]] = [
        (nobody, lambda who, tx: calls.unknown(who, tx, 10)),
        (viewer, lambda who, tx: calls.resolve(who, tx, uuid7(now), "done", now)),
        (viewer, lambda who, tx: calls.cancel(who, tx, uuid7(now), now)),
    ]
    for who, act in acts:
        with yard.desk.database.transaction(who) as tx, pytest.raises(Forbidden):
            act(who, tx)
