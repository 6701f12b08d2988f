"""A lease is short and renewed while its worker lives; a session whose worker died is woken within seconds."""

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from parlour.conversations import store
from parlour.conversations.rows import Lease
from parlour.infra.errors import LeaseHeld, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.jobs import renewal
from parlour.jobs.renewal import RENEWAL_SECONDS, VISIBILITY_SECONDS
from parlour.jobs.work_due import CHECK_DELAY, DueWork
from tests.conversation_harness import ConversationHarness, text_answer


class Killed(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def frequent_renewals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "RENEWAL_SECONDS", 0.01)


def take_lease(conversation: ConversationHarness) -> Lease:
    now, session = conversation.clock.now, conversation.list_wakes()[-1].session_id

    def take(tx: Transaction) -> Lease | None:
        return store.acquire_lease(tx, session, uuid7(now), now, now + timedelta(seconds=1))

    lease = conversation.database.run(conversation.tenant_id, take)
    assert lease is not None
    return lease


def renew_lease(
    conversation: ConversationHarness,
    lease: Lease,
    seconds_left: float = 60.0,
    after_renewal: Callable[[Database], None] = lambda _database: None,
) -> AbstractContextManager[None]:
    return renewal.renew_lease(
        conversation.database,
        conversation.tenant_id,
        lambda tx, until: store.renew_lease(tx, lease, until),
        conversation.clock,
        lambda: seconds_left,
        after_renewal,
    )


def lease_until(conversation: ConversationHarness) -> datetime | None:
    ((until,),) = conversation.query("SELECT lease_until FROM sessions")
    assert until is None or isinstance(until, datetime)
    return until


@pytest.mark.usefixtures("frequent_renewals")
@pytest.mark.parametrize(("seconds_left", "holds_for"), [(60.0, 3), (2.0, 2)])
def test_it_is_renewed_but_never_beyond_the_deadline(
    conversation: ConversationHarness, seconds_left: float, holds_for: int
) -> None:
    conversation.send_whatsapp("Hello?")
    lease, start = take_lease(conversation), conversation.clock.now
    with renew_lease(conversation, lease, seconds_left):
        deadline = time.monotonic() + 10
        while lease_until(conversation) == lease.expires_at and time.monotonic() < deadline:
            time.sleep(0.01)
    until = lease_until(conversation)
    assert until is not None
    assert round((until - start).total_seconds()) == holds_for


@pytest.mark.usefixtures("frequent_renewals")
def test_it_goes_on_when_what_is_done_after_a_renewal_fails(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello?")
    lease, calls, goes_on = take_lease(conversation), 0, threading.Event()

    def fail(_: Database) -> None:
        nonlocal calls
        calls += 1
        if calls == 2:
            goes_on.set()
        raise ValueError("the line cannot be read")

    with renew_lease(conversation, lease, after_renewal=fail):
        assert goes_on.wait(10)


@pytest.mark.usefixtures("frequent_renewals")
@pytest.mark.parametrize("change", ["lease_token = lease_token + 1", "lease_until = NULL"])
def test_a_lease_that_was_lost_or_let_go_is_left_alone(conversation: ConversationHarness, change: str) -> None:
    conversation.send_whatsapp("Hello?")
    lease = take_lease(conversation)
    conversation.query(f"UPDATE sessions SET {change} RETURNING id")
    before = lease_until(conversation)
    with renew_lease(conversation, lease):
        time.sleep(0.1)
    assert lease_until(conversation) == before


def due_wakeups(conversation: ConversationHarness) -> list[tuple[UUID, timedelta]]:
    """The sessions that are to be looked at, and how long from now."""
    found = [DueWork.from_json(body) for body, _ in conversation.wakeups.sent]
    conversation.wakeups.sent.clear()
    return [(work.id, work.due_at - conversation.clock.now) for work in found]


def test_a_web_message_whose_wakeup_is_never_sent_has_its_session_looked_at(
    conversation: ConversationHarness,
) -> None:
    visitor = conversation.create_visitor()
    session = conversation.find_session(visitor)
    conversation.turns.error = QueueUnavailable()
    with pytest.raises(QueueUnavailable):
        conversation.send_web(visitor, session, "Hello?")
    ((looked_at, wait),) = due_wakeups(conversation)
    assert (looked_at, round(wait.total_seconds())) == (session, CHECK_DELAY.total_seconds())


def die_in_turn(conversation: ConversationHarness) -> None:
    def die() -> None:
        raise Killed

    conversation.model.before_completion, conversation.model.script = die, [text_answer("Hello.")]
    with pytest.raises(Killed):
        conversation.run_turn()
    conversation.model.before_completion, conversation.model.script = (lambda: None), [text_answer("Hello.")]


def redeliver(conversation: ConversationHarness) -> None:
    """The dead worker's own message comes again."""
    conversation.run_turn(replace(conversation.list_wakes()[-1], is_redelivered=True))


def test_a_dead_workers_turn_is_taken_up_by_its_own_message(conversation: ConversationHarness) -> None:
    conversation.send_whatsapp("Hello?")
    die_in_turn(conversation)
    conversation.clock.now += timedelta(seconds=VISIBILITY_SECONDS)
    redeliver(conversation)
    assert conversation.query("SELECT state, attempt_count FROM turns") == [("answered", 2)]
    assert conversation.query("SELECT count(*) FROM outbox") == [(1,)]


def test_a_message_that_comes_again_before_the_lease_is_over_stays_on_its_queue(
    conversation: ConversationHarness,
) -> None:
    conversation.send_whatsapp("Hello?")
    die_in_turn(conversation)
    conversation.clock.now += timedelta(seconds=1)
    with pytest.raises(LeaseHeld):
        redeliver(conversation)
    conversation.run_turn()  # another message's wake is left to the worker that may be alive
    assert conversation.query("SELECT state FROM turns") == [("open",)]
    conversation.clock.now += timedelta(seconds=VISIBILITY_SECONDS)
    redeliver(conversation)
    assert conversation.query("SELECT state, attempt_count FROM turns") == [("answered", 2)]


def test_a_lease_is_over_before_its_dead_workers_message_comes_again() -> None:
    now = datetime.now(UTC)
    lease = (renewal.lease_end(now, lambda: 900.0) - now).total_seconds()
    assert lease < VISIBILITY_SECONDS - RENEWAL_SECONDS
