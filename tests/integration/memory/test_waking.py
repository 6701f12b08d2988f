"""What is to be remembered and whose message got lost is found by the sweep."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from parlour.jobs import work_due
from parlour.jobs.sweep import SweepResult, sweep, wake_up
from parlour.jobs.work_due import GRACE, DueWork
from parlour.memory import waking
from parlour.memory.order import KINDS, Kind
from tests.desk import Desk
from tests.integration.memory.read_through import Conversation, answer
from tests.integration.sweeping import dependencies

MINUTE = timedelta(minutes=1)


def swept(desk: Desk, after: timedelta) -> SweepResult:
    """What the sweep does to memory's work after a while."""
    desk.rows(f"DELETE FROM work_due WHERE kind <> ALL('{{{','.join(KINDS)}}}') RETURNING 1")
    desk.memory.sent.clear()
    desk.clock.now += after
    return sweep(dependencies(desk), lambda: 60.0)


def orders(desk: Desk) -> list[Any]:
    return [(body["kind"], body["id"], seconds) for body, seconds in desk.memory.sent]


@pytest.fixture
def talk(desk: Desk) -> Conversation:
    made = Conversation(desk)
    made.say("I live in Pune.")
    return made


def test_turns_that_nobody_looked_through_are_sent_again_and_again(desk: Desk, talk: Conversation) -> None:
    assert swept(desk, waking.WAIT + MINUTE).woken == 0
    for _ in range(2):
        assert swept(desk, timedelta(hours=1)).woken == 1
        assert orders(desk) == [("memory", str(talk.session), 0.0)]
    talk.look_through(answer())
    assert swept(desk, timedelta(hours=9)).woken == 0


def test_what_somebody_is_at_is_left_alone(desk: Desk, talk: Conversation) -> None:
    now = desk.clock()
    with desk.database.transaction(desk.tenant_id) as tx:
        assert work_due.lease(tx, "memory", talk.session, now + timedelta(hours=2), now)
    desk.rows("UPDATE work_due SET due_at = now() - interval '1 year' WHERE kind = 'memory' RETURNING 1")
    assert (swept(desk, timedelta(minutes=30)).busy, orders(desk)) == (1, [])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_goes_to_the_queue_of_memory(desk: Desk, talk: Conversation, kind: Kind) -> None:
    work = UUID(int=7)
    desk.rows("DELETE FROM work_due RETURNING 1")
    with desk.database.transaction(desk.tenant_id) as tx:
        work_due.schedule(tx, kind, work, desk.clock())
    swept(desk, MINUTE)
    assert orders(desk) == [(kind, str(work), 0.0)]


def test_a_wake_up_of_its_own_does_as_much(desk: Desk, talk: Conversation) -> None:
    ((due_at,),) = talk.due()
    desk.clock.now = due_at + MINUTE  # type: ignore[assignment, operator]
    desk.memory.sent.clear()
    wake_up(dependencies(desk), DueWork(desk.tenant_id, "memory", talk.session, desk.clock() - GRACE).to_json())
    assert orders(desk) == [("memory", str(talk.session), 0.0)]
