"""A try at a record's Pulses begins and ends: who is at it, what they tell of then, when somebody looks at them again.

In the transaction that ends it the record is locked before its due work, as those who mark it do.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.pulse.due import budget, scheduling_rules, store
from parlour.records import staleness
from parlour.records.staleness import PendingChanges

WORK_KIND: work_due.WorkKind = "pulse"


def lease(tx: Transaction, record_id: UUID, leased_until: datetime, now: datetime) -> bool:
    """Be the only one at the record's Pulses until then. False when another is, or when nobody asks for them: a message
    that comes twice, the second time after they were written, is no cause to write them within their next window."""
    store.lock_record(tx, record_id)  # who ends with it holds it as well: asked for and held are one look
    if not store.is_requested(tx, record_id) or not work_due.lease(tx, WORK_KIND, record_id, leased_until, now):
        return False
    staleness.merge_side_marks(tx, record_id)
    return True


def lock_lease(tx: Transaction, record_id: UUID, leased_until: datetime) -> bool:
    """Whether the record's Pulses are still one's own to write; if so nobody marks them or takes them before the
    transaction ends. Asked first in it: who took too long has lost them to another, and writes nothing."""
    store.lock_record(tx, record_id)
    return work_due.lock_leased(tx, WORK_KIND, record_id, leased_until) is not None


@dataclass(frozen=True, slots=True)
class CurrentPulses:
    """A record's Pulses, newly written or found to be right. cost_usd: of the model calls, None without any."""

    reflected_changes: PendingChanges
    sources_read_at: datetime
    cost_usd: Decimal | None


def record_success(
    tx: Transaction,
    record_id: UUID,
    current: CurrentPulses,
    leased_until: datetime,
    now: datetime,
    *,
    window: timedelta,
    max_age: timedelta,
) -> None:
    """Store that the record's Pulses, which this worker leased, are current, and schedule the next check.

    window   of the record's type: how long changes are collected before a text is written.
    max_age  after which the Pulses are checked although nothing changed.

    A change after the sources were read stays pending, and is due when its window is over.
    """
    since = staleness.acknowledge_changes(tx, record_id, current.reflected_changes, current.sources_read_at)
    store.record_success(tx, record_id, current.cost_usd)
    next_check_at = scheduling_rules.next_check_at(since, window, now, max_age)
    work_due.release(tx, WORK_KIND, record_id, leased_until, next_check_at)


def record_failure(
    tx: Transaction, record_id: UUID, problem: str, leased_until: datetime, now: datetime, level: int | None = None
) -> int:
    """Record a failed attempt, reschedule the next one and return the number of failures in a row.

    `problem` is the code of the cause; `level` is the level that failed, None when the whole attempt failed.
    Call `report_given_up` with the result after the commit.
    """
    failures = store.record_failure(tx, record_id, problem, level, now)
    work_due.release(tx, WORK_KIND, record_id, leased_until, now + scheduling_rules.back_off(failures, problem))
    return failures


def report_given_up(tenant_id: UUID, record_id: UUID, problem: str, failures: int) -> bool:
    """Whether it was tried often enough; people are told of it then, and with every further try."""
    if failures < scheduling_rules.MAX_FAILURES:
        return False
    log.warning("pulse_given_up", tenant_id=tenant_id, entity_id=record_id, problem=problem, failures=failures)
    log.count("PulseGivenUp")
    return True


def wait_for_budget(
    tx: Transaction, record_id: UUID, leased_until: datetime, default_pulse_cap: Decimal, now: datetime
) -> None:
    """There was no room in a budget for it: it is looked at again when there may be."""
    store.set_waiting(tx, [record_id], "budget")
    work_due.release(
        tx, WORK_KIND, record_id, leased_until, budget.next_attempt_with_budget(tx, default_pulse_cap, now)
    )


def drop(tx: Transaction, record_id: UUID, leased_until: datetime, now: datetime) -> None:
    """Delete the due work of a record that is gone, or that has no Pulses, if that still holds."""
    if lock_lease(tx, record_id, leased_until) and store.delete_obsolete_work(tx, [(record_id, None)]) == 0:
        work_due.release(tx, WORK_KIND, record_id, leased_until, now)
