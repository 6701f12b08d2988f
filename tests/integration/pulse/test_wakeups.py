"""Where no schedule looks every minute: whatever is due is woken, in its time, and by one message."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.infra.errors import LeaseHeld, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.pulse.due.sweep import PulseSweepDependencies
from parlour.pulse.due.wakeups import handle_wakeup, schedule_wakeup
from parlour.pulse.pulse import PulseJob
from parlour.pulse.reading import refresh_requests
from parlour.pulse.writing import writing_job
from tests.integration.pulse.pulse_harness import PulseHarness

_TICK = timedelta(milliseconds=1)


@dataclass
class WakeupHarness:
    """A site whose database is to sleep: wake-ups come by a queue, and whoever wrote looks at what is next."""

    site: PulseHarness
    waiting: list[tuple[datetime, JsonObject]] = field(default_factory=list)
    received: int = 0
    is_unavailable: bool = False

    def send(self, body: JsonObject, seconds: float, /) -> None:
        if self.is_unavailable:
            raise QueueUnavailable
        assert 0 <= seconds <= 900
        self.waiting.append((self.site.now + timedelta(seconds=seconds), body))

    def nudge(self) -> bool:
        self.site.desk.clock.now += _TICK
        return schedule_wakeup(self.site.desk.database, self, self.site.desk.tenant_id, self.site.now)

    def ended(self, _: UUID) -> None:
        self.nudge()

    def run_until(self, until: datetime) -> None:
        """Everything that comes until then is done in its time."""
        site = self.site
        while self.waiting and min(self.waiting, key=lambda one: one[0])[0] <= until:
            self.waiting.sort(key=lambda one: one[0])
            at, body = self.waiting.pop(0)
            site.desk.clock.now = max(site.now + _TICK, at)
            self.received += 1
            sweeper = PulseSweepDependencies(
                site.desk.database, site.pulse_queue, Decimal(20), site.default_pulse_cap, site.desk.clock
            )
            handle_wakeup(sweeper, self, body)
            self.write()
        site.desk.clock.now = max(site.now, until)

    def write(self) -> None:
        services = replace(self.site.make_dependencies(), on_written=self.ended)
        sent = [PulseJob.from_json(body) for body, _ in self.site.pulse_queue.sent]
        self.site.pulse_queue.sent.clear()
        for order in sent:
            writing_job.run_pulse_job(services, order, lambda: 300.0)


@pytest.fixture
def wakeup_harness(pulse_harness: PulseHarness) -> WakeupHarness:
    pulse_harness.refresh()
    pulse_harness.desk.query(f"DELETE FROM work_due WHERE kind = 'pulse' AND id <> '{pulse_harness.id}' RETURNING 1")
    return WakeupHarness(pulse_harness)


def test_steady_work_has_as_many_wake_ups_as_windows(wakeup_harness: WakeupHarness) -> None:
    site, start = wakeup_harness.site, wakeup_harness.site.now
    for seconds in range(0, 1800, 20):
        wakeup_harness.run_until(start + timedelta(seconds=seconds))
        site.change("site/harbour", place=f"place {seconds}")
        wakeup_harness.nudge()
    assert wakeup_harness.received <= 1800 / 30 * 1.5
    assert len(wakeup_harness.waiting) <= 3
    wakeup_harness.run_until(start + timedelta(seconds=1900))
    assert "place 1780" in site.pulse_column()
    assert wakeup_harness.waiting == []


def test_what_waits_long_is_delayed_again_until_it_is_due_and_the_database_sleeps(
    wakeup_harness: WakeupHarness,
) -> None:
    site, start = wakeup_harness.site, wakeup_harness.site.now
    site.change("site/harbour", place="the west quay")
    wakeup_harness.nudge()
    site.model.script = ["no JSON"] * 7
    wakeup_harness.run_until(start + timedelta(minutes=66))
    due_at = site.due_at()
    assert (site.state_column("failures"), len(wakeup_harness.waiting)) == (7, 1)
    assert due_at - site.now > timedelta(minutes=60)
    looks: list[str] = []
    real = site.desk.database.run
    site.desk.database.run = lambda *given: looks.append("") or real(*given)  # type: ignore[method-assign, func-returns-value]
    wakeup_harness.run_until(due_at - timedelta(seconds=1))
    assert (looks, len(wakeup_harness.waiting)) == ([], 1)
    site.desk.database.run = real  # type: ignore[method-assign]
    wakeup_harness.run_until(due_at + timedelta(seconds=1))
    assert "the west quay" in site.pulse_column()


def test_what_waits_for_tomorrow_has_one_message_however_much_changes(wakeup_harness: WakeupHarness) -> None:
    site = wakeup_harness.site
    site.create("site/pier", "Pier", place="the south quay")
    site.desk.query(
        "INSERT INTO pulse_states (tenant_id, entity_id, waiting_for)"
        " SELECT tenant_id, id, 'budget' FROM entities WHERE key = 'pier' RETURNING 1"
    )
    tomorrow = (site.now + timedelta(days=1)).isoformat()
    site.desk.query(
        f"UPDATE work_due w SET due_at = '{tomorrow}' FROM entities e WHERE e.id = w.id AND e.key = 'pier' RETURNING 1"
    )
    start = site.now
    for minute in range(60):
        wakeup_harness.run_until(start + timedelta(minutes=minute))
        site.change("site/harbour", place=f"place {minute}")
        wakeup_harness.nudge()
    wakeup_harness.run_until(start + timedelta(minutes=62))
    assert len(wakeup_harness.waiting) <= 2
    assert "place 59" in site.pulse_column()


def due_in(pulse_harness: PulseHarness, minutes: int) -> None:
    at = pulse_harness.now + timedelta(minutes=minutes)
    pulse_harness.desk.query(f"UPDATE work_due SET due_at = '{at}' WHERE id = '{pulse_harness.id}' RETURNING 1")


def test_a_wake_up_that_was_overtaken_does_nothing(wakeup_harness: WakeupHarness) -> None:
    site = wakeup_harness.site
    site.desk.query(
        f"UPDATE work_due SET due_at = '{site.now + timedelta(minutes=9)}' WHERE id = '{site.id}' RETURNING 1"
    )
    assert wakeup_harness.nudge()
    assert not wakeup_harness.nudge()
    site.desk.query(
        f"UPDATE work_due SET due_at = '{site.now + timedelta(minutes=1)}' WHERE id = '{site.id}' RETURNING 1"
    )
    assert wakeup_harness.nudge()
    assert len(wakeup_harness.waiting) == 2
    wakeup_harness.run_until(site.now + timedelta(minutes=10))
    assert wakeup_harness.waiting == []
    assert not wakeup_harness.nudge()


def test_a_wake_up_that_the_queue_refused_is_sent_by_the_next_who_looks(wakeup_harness: WakeupHarness) -> None:
    wakeup_harness.site.change("site/harbour", place="the west quay")
    wakeup_harness.is_unavailable = True
    with pytest.raises(QueueUnavailable):
        wakeup_harness.nudge()
    wakeup_harness.is_unavailable = False
    assert wakeup_harness.nudge()


def an_order(pulse_harness: PulseHarness) -> PulseJob:
    return next(
        order
        for order in (PulseJob.from_json(body) for body, _ in pulse_harness.pulse_queue.sent)
        if order.entity_id == pulse_harness.id
    )


def during(pulse_harness: PulseHarness, act: Callable[[], None]) -> None:
    """Something is done once, while the model is asked."""

    def once() -> None:
        pulse_harness.model.during = lambda: None
        act()

    pulse_harness.model.during = once


def test_an_order_that_comes_while_a_question_is_answered_is_not_lost(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    pulse_harness.change("site/harbour", place="the west quay")
    pulse_harness.sweep()
    order = an_order(pulse_harness)
    pulse_harness.written_tenants.clear()
    during(pulse_harness, lambda: writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0))
    pulse_harness.ask("What is wrong?")
    assert len(pulse_harness.written_tenants) == 2
    assert pulse_harness.due_at() is not None


def test_two_orders_at_once_write_once(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    pulse_harness.change("site/harbour", place="the west quay")
    pulse_harness.sweep()
    order = an_order(pulse_harness)
    tries: list[UUID] = []

    def run_at_once() -> None:
        writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
        tries.append(order.entity_id)

    during(pulse_harness, run_at_once)
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), order, lambda: 300.0)
    assert (len(tries), pulse_harness.pulse_column("version")) == (1, 2)


def test_a_question_waits_no_longer_than_others_may_be_at_its_record(pulse_harness: PulseHarness) -> None:
    pulse_harness.refresh()
    question_id = uuid7(pulse_harness.now)
    with pulse_harness.desk.database.transaction(pulse_harness.admin) as tx:
        asked = refresh_requests.request_refresh(
            pulse_harness.admin, tx, "site/harbour", "What is wrong?", question_id, pulse_harness.now
        )
    pulse_harness.change("site/harbour", place="the west quay")
    pulse_harness.sweep()

    def meanwhile() -> None:
        with pytest.raises(LeaseHeld) as problem:
            writing_job.run_pulse_job(pulse_harness.make_dependencies(), asked.job, lambda: 300.0)
        assert problem.value.retry_after == 60
        pulse_harness.desk.clock.now += timedelta(seconds=290)
        with pytest.raises(LeaseHeld) as problem:
            writing_job.run_pulse_job(pulse_harness.make_dependencies(), asked.job, lambda: 300.0)
        assert problem.value.retry_after == 10
        pulse_harness.desk.query("UPDATE pulse_questions SET asked_at = asked_at - interval '5 minutes' RETURNING 1")
        writing_job.run_pulse_job(pulse_harness.make_dependencies(), asked.job, lambda: 300.0)

    during(pulse_harness, meanwhile)
    writing_job.run_pulse_job(pulse_harness.make_dependencies(), an_order(pulse_harness), lambda: 300.0)
    with pulse_harness.desk.database.transaction(pulse_harness.admin) as tx:
        told = refresh_requests.read_answer(pulse_harness.admin, tx, "site/harbour", question_id)
    assert (told.row.problem, bool(told.row.answered_at)) == ("lease_held", True)
    assert "the west quay" in pulse_harness.pulse_column()
