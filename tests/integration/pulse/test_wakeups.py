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
def sleeping(site: PulseHarness) -> WakeupHarness:
    site.refresh()
    site.desk.query(f"DELETE FROM work_due WHERE kind = 'pulse' AND id <> '{site.id}' RETURNING 1")
    return WakeupHarness(site)


def test_steady_work_has_as_many_wake_ups_as_windows(sleeping: WakeupHarness) -> None:
    site, start = sleeping.site, sleeping.site.now
    for seconds in range(0, 1800, 20):
        sleeping.run_until(start + timedelta(seconds=seconds))
        site.change("site/harbour", place=f"place {seconds}")
        sleeping.nudge()
    assert sleeping.received <= 1800 / 30 * 1.5
    assert len(sleeping.waiting) <= 3
    sleeping.run_until(start + timedelta(seconds=1900))
    assert "place 1780" in site.pulse_column()
    assert sleeping.waiting == []


def test_what_waits_long_is_delayed_again_until_it_is_due_and_the_database_sleeps(sleeping: WakeupHarness) -> None:
    site, start = sleeping.site, sleeping.site.now
    site.change("site/harbour", place="the west quay")
    sleeping.nudge()
    site.model.script = ["no JSON"] * 7
    sleeping.run_until(start + timedelta(minutes=66))
    due_at = site.due_at()
    assert (site.state_column("failures"), len(sleeping.waiting)) == (7, 1)
    assert due_at - site.now > timedelta(minutes=60)
    looks: list[str] = []
    real = site.desk.database.run
    site.desk.database.run = lambda *given: looks.append("") or real(*given)  # type: ignore[method-assign, func-returns-value]
    sleeping.run_until(due_at - timedelta(seconds=1))
    assert (looks, len(sleeping.waiting)) == ([], 1)
    site.desk.database.run = real  # type: ignore[method-assign]
    sleeping.run_until(due_at + timedelta(seconds=1))
    assert "the west quay" in site.pulse_column()


def test_what_waits_for_tomorrow_has_one_message_however_much_changes(sleeping: WakeupHarness) -> None:
    site = sleeping.site
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
        sleeping.run_until(start + timedelta(minutes=minute))
        site.change("site/harbour", place=f"place {minute}")
        sleeping.nudge()
    sleeping.run_until(start + timedelta(minutes=62))
    assert len(sleeping.waiting) <= 2
    assert "place 59" in site.pulse_column()


def due_in(site: PulseHarness, minutes: int) -> None:
    at = site.now + timedelta(minutes=minutes)
    site.desk.query(f"UPDATE work_due SET due_at = '{at}' WHERE id = '{site.id}' RETURNING 1")


def test_a_wake_up_that_was_overtaken_does_nothing(sleeping: WakeupHarness) -> None:
    site = sleeping.site
    site.desk.query(
        f"UPDATE work_due SET due_at = '{site.now + timedelta(minutes=9)}' WHERE id = '{site.id}' RETURNING 1"
    )
    assert sleeping.nudge()
    assert not sleeping.nudge()
    site.desk.query(
        f"UPDATE work_due SET due_at = '{site.now + timedelta(minutes=1)}' WHERE id = '{site.id}' RETURNING 1"
    )
    assert sleeping.nudge()
    assert len(sleeping.waiting) == 2
    sleeping.run_until(site.now + timedelta(minutes=10))
    assert sleeping.waiting == []
    assert not sleeping.nudge()


def test_a_wake_up_that_the_queue_refused_is_sent_by_the_next_who_looks(sleeping: WakeupHarness) -> None:
    sleeping.site.change("site/harbour", place="the west quay")
    sleeping.is_unavailable = True
    with pytest.raises(QueueUnavailable):
        sleeping.nudge()
    sleeping.is_unavailable = False
    assert sleeping.nudge()


def an_order(site: PulseHarness) -> PulseJob:
    return next(
        order for order in (PulseJob.from_json(body) for body, _ in site.pulse_queue.sent) if order.entity_id == site.id
    )


def during(site: PulseHarness, act: Callable[[], None]) -> None:
    """Something is done once, while the model is asked."""

    def once() -> None:
        site.model.during = lambda: None
        act()

    site.model.during = once


def test_an_order_that_comes_while_a_question_is_answered_is_not_lost(site: PulseHarness) -> None:
    site.refresh()
    site.change("site/harbour", place="the west quay")
    site.sweep()
    order = an_order(site)
    site.written_tenants.clear()
    during(site, lambda: writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0))
    site.ask("What is wrong?")
    assert len(site.written_tenants) == 2
    assert site.due_at() is not None


def test_two_orders_at_once_write_once(site: PulseHarness) -> None:
    site.refresh()
    site.change("site/harbour", place="the west quay")
    site.sweep()
    order = an_order(site)
    tries: list[UUID] = []

    def run_at_once() -> None:
        writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
        tries.append(order.entity_id)

    during(site, run_at_once)
    writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
    writing_job.run_pulse_job(site.make_dependencies(), order, lambda: 300.0)
    assert (len(tries), site.pulse_column("version")) == (1, 2)


def test_a_question_waits_no_longer_than_others_may_be_at_its_record(site: PulseHarness) -> None:
    site.refresh()
    question_id = uuid7(site.now)
    with site.desk.database.transaction(site.admin) as tx:
        asked = refresh_requests.request_refresh(
            site.admin, tx, "site/harbour", "What is wrong?", question_id, site.now
        )
    site.change("site/harbour", place="the west quay")
    site.sweep()

    def meanwhile() -> None:
        with pytest.raises(LeaseHeld) as problem:
            writing_job.run_pulse_job(site.make_dependencies(), asked.job, lambda: 300.0)
        assert problem.value.retry_after == 60
        site.desk.clock.now += timedelta(seconds=290)
        with pytest.raises(LeaseHeld) as problem:
            writing_job.run_pulse_job(site.make_dependencies(), asked.job, lambda: 300.0)
        assert problem.value.retry_after == 10
        site.desk.query("UPDATE pulse_questions SET asked_at = asked_at - interval '5 minutes' RETURNING 1")
        writing_job.run_pulse_job(site.make_dependencies(), asked.job, lambda: 300.0)

    during(site, meanwhile)
    writing_job.run_pulse_job(site.make_dependencies(), an_order(site), lambda: 300.0)
    with site.desk.database.transaction(site.admin) as tx:
        told = refresh_requests.read_answer(site.admin, tx, "site/harbour", question_id)
    assert (told["problem"], bool(told["answered_at"])) == ("lease_held", True)
    assert "the west quay" in site.pulse_column()
