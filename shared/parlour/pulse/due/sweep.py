"""The Pulses that are due, to their writers: tenant by tenant, the most valuable first, within the day's budget.

Only what is due is read, by index: a hundred thousand fresh Pulses cost a sweep nothing. Whatever is sent is put off
first, in one transaction that two sweeps cannot both win, so that each is sent once; should its message be lost or its
writer die, it is due again then. What waits for budget is put off to the next day, and says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import DelayedQueue
from parlour.pulse.due import budget, scheduling_rules, store
from parlour.pulse.due.scheduling_rules import DuePulse, SweepSelection
from parlour.pulse.pulse import PulseJob
from parlour.records import staleness

MAX_IN_FLIGHT = 120
"""Pulses that are with the writers at once: five of them get through these in some minutes, also when each takes many
seconds. What is still to be sent is worth another thing by then, and is put in order again."""

MAX_RANKED = 10_000
"""Of one tenant's Pulses that are due, how many are compared; they have some hundred bytes each."""

_MAX_TENANTS = 1_000
_MIN_PER_TENANT = 10
"""How many of a tenant's Pulses are sent however many other tenants have some."""

_MIN_SECONDS_LEFT = 10.0
"""A sweep begins no further tenant with less time than this."""


@dataclass(frozen=True, slots=True)
class PulseSweepDependencies:
    """The dependencies of a sweep; `pulse_queue` is the queue of the writers.

    default_cap        the daily cap of model calls for a tenant without its own.
    default_pulse_cap  the daily cap of Pulses for a tenant without its own.
    """

    database: Database
    pulse_queue: DelayedQueue
    default_cap: Decimal
    default_pulse_cap: Decimal
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class PulseSweepResult:
    """What became of the Pulses that were due; left: there were more than fitted."""

    sent_count: int = 0
    waiting_count: int = 0
    settled_count: int = 0
    has_more: bool = False

    def __add__(self, other: "PulseSweepResult") -> "PulseSweepResult":
        return PulseSweepResult(
            self.sent_count + other.sent_count,
            self.waiting_count + other.waiting_count,
            self.settled_count + other.settled_count,
            self.has_more or other.has_more,
        )


def sweep(dependencies: PulseSweepDependencies, seconds_left: SecondsLeft) -> PulseSweepResult:
    """Every tenant's. Raises RetryError when the database or the queue is away."""
    now = dependencies.clock()
    tenants = dependencies.database.run(None, lambda tx: store.list_tenants_with_due_pulses(tx, now, _MAX_TENANTS))
    each = max(_MIN_PER_TENANT, MAX_IN_FLIGHT // len(tenants)) if tenants else 0
    swept = PulseSweepResult()
    for tenant_id in tenants:
        if seconds_left() < _MIN_SECONDS_LEFT:
            swept += PulseSweepResult(has_more=True)
            break
        swept += _sweep_tenant_safely(dependencies, tenant_id, each)
    if swept.has_more:
        log.count("PulseSweepBehind")
    log.info(
        "pulse_sweep_finished",
        sent=swept.sent_count,
        waiting=swept.waiting_count,
        settled=swept.settled_count,
        left=swept.has_more,
    )
    return swept


def sweep_tenant(dependencies: PulseSweepDependencies, tenant_id: UUID, limit: int = MAX_IN_FLIGHT) -> PulseSweepResult:
    """One tenant's; at most `most` are sent, and no more than its writers get through."""
    now = dependencies.clock()
    rows = dependencies.database.run(tenant_id, lambda tx: store.list_due_pulses(tx, now, MAX_RANKED))
    gone, due = [row for row in rows if row.is_obsolete], [row for row in rows if not row.is_obsolete]
    old = sorted(row.id for row in due if row.stale_since is None)
    if old:
        dependencies.database.run(tenant_id, lambda tx: staleness.mark_stale_without_parents(tx, old, "age", now))

    settled = (
        dependencies.database.run(
            tenant_id, lambda tx: store.delete_obsolete_work(tx, [(row.id, row.due_at) for row in gone])
        )
        if gone
        else 0
    )

    def decide(tx: Transaction) -> tuple[list[UUID], SweepSelection]:
        today = budget.read_budget(tx, dependencies.default_pulse_cap, now, dependencies.default_cap)
        room = max(min(limit, MAX_IN_FLIGHT - store.count_in_flight(tx, now)), 0)
        candidates = [
            DuePulse(row.id, row.due_at, row.stale_since, row.decayed_reads, row.reads_counted_at, row.last_cost_usd)
            for row in due
        ]
        chosen = scheduling_rules.select_pulses(candidates, today, room, now)
        # Put off what is sent and what waits, each unless another sweep did so; what is to be sent, in its
        # order.
        again = scheduling_rules.next_attempt_with_budget(today, now)
        rows = [(one.id, one.due_at, now + scheduling_rules.WRITER_TIMEOUT) for one in chosen.send]
        rows += [(one.id, one.due_at, again) for one in chosen.wait_for_budget]
        taken = store.reschedule_unchanged(tx, rows, now) if rows else set()
        send = [one for one in chosen.send if one.id in taken]
        if send:
            store.record_requests(tx, [(one.id, one.expected_usd) for one in send], now)
        if wait := [one.id for one in chosen.wait_for_budget if one.id in taken]:
            store.set_waiting(tx, wait, "budget")
        return [one.id for one in send], chosen

    taken, chosen = dependencies.database.run(tenant_id, decide) if rows else ([], SweepSelection((), (), ()))
    for record_id in taken:
        dependencies.pulse_queue.send(PulseJob(tenant_id, record_id).to_json(), 0)
    left = bool(chosen.remaining) or len(rows) == MAX_RANKED
    return PulseSweepResult(len(taken), len(chosen.wait_for_budget), settled, left)


def _sweep_tenant_safely(dependencies: PulseSweepDependencies, tenant_id: UUID, limit: int) -> PulseSweepResult:
    """Sweep one tenant; an error leaves its Pulses due and does not stop the other tenants' sweep."""
    try:
        return sweep_tenant(dependencies, tenant_id, limit)
    except RetryError:
        raise
    except Exception as problem:  # noqa: BLE001 - logged and counted, and the work stays due
        log.error("pulse_sweep_tenant_failed", problem, tenant_id=tenant_id)
        log.count("Poison")
        return PulseSweepResult(has_more=True)
