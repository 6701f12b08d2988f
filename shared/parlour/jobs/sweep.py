"""The sweep: find overdue work that nobody looks after, and wake its worker again.

A wake-up gets lost when a worker dies between its commit and its message, or when a message ends among the dead
letters. Redelivery and duplicates repair most of it; the sweep repairs all of it. Rooms offer a finder for each kind of
their work, and bootstrap registers them. A finder looks at the work under its own lock, so nothing that comes in at the
same moment is lost and two sweeps wake nothing twice. Woken work is looked at again later, and later each time: it is
never dropped, and work that is broken for good is not hammered.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal, Protocol

from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import DelayedQueue, FifoQueue, QueueMessage
from parlour.jobs import work_due
from parlour.jobs.backoff import MAX_WAIT
from parlour.jobs.work_due import SWEEP_DELAY, DueWork, WorkKind

#: Pieces of work that a sweep reads at once; at some ten milliseconds each it does thousands in its time.
BATCH_SIZE = 200

#: When work is looked at again whose finder raised.
RETRY_AFTER_ERROR = timedelta(hours=1)

#: How long after a lease's end the sweep looks again: the message of its worker comes again within seconds.
_WAIT_AFTER_LEASE = timedelta(minutes=1)

#: A sweep begins nothing new with less time than this.
_MIN_SECONDS_LEFT = 10.0

type SweepOutcome = Literal["woken", "settled", "busy", "changed_meanwhile", "failed"]


@dataclass(frozen=True, slots=True)
class StaleWork:
    """Work that is not done, as a finder sees it.

    waiting_since  when the work began to wait; the longer ago, the later the sweep looks again.
    send_wakeup    sends the message that wakes the worker; called after the commit.
    leased_until   the end of a worker's lease.
    not_before     the time before which nothing is to be done.
    rest_due_at    when the rest is due of work that this look did a part of; a time that is past: at the next sweep.
    is_planned     only the sweep wakes this work, so finding it is no sign of a lost message.
    first_wait     how long after it was woken the sweep looks again; at first, then longer each time.
    """

    waiting_since: datetime
    send_wakeup: Callable[[], None]
    leased_until: datetime | None = None
    not_before: datetime | None = None
    rest_due_at: datetime | None = None
    is_planned: bool = False
    first_wait: timedelta = SWEEP_DELAY

    def wait_until(self, now: datetime) -> datetime | None:
        """Return when to look again at work that must not be woken now; None for work that must be."""
        if self.rest_due_at:
            return self.rest_due_at
        if self.not_before and self.not_before > now:
            return self.not_before
        return self.leased_until + _WAIT_AFTER_LEASE if self.leased_until and self.leased_until > now else None


class Finder(Protocol):
    """Looks at one piece of due work."""

    def __call__(self, tx: Transaction, work: DueWork, now: datetime, /) -> StaleWork | None:
        """Lock the work and return it if it needs a worker. Return None when it is done: its row is deleted."""
        ...


@dataclass(frozen=True, slots=True)
class SweepDependencies:
    """Everything that a sweep uses. `wakeup_queue` is the sweep's own queue, for work that is due later."""

    database: Database
    finders: Mapping[WorkKind, Finder]
    wakeup_queue: DelayedQueue
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The numbers of woken, settled and busy work, and whether more was due than one sweep handles."""

    woken_count: int
    settled_count: int
    busy_count: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class _ItemResult:
    """The outcome for one piece of work, and when the sweep looks at it again."""

    outcome: SweepOutcome
    next_due_at: datetime | None = None
    woken_work: StaleWork | None = None


def sweep(dependencies: SweepDependencies, seconds_left: SecondsLeft) -> SweepResult:
    """Look at what is due in any tenant, oldest first, until nothing is left or the time is up.

    Raises RetryError when the database or a queue is away.
    """
    counts: Counter[SweepOutcome] = Counter()
    has_more = True
    while has_more and seconds_left() >= _MIN_SECONDS_LEFT:
        has_more = _sweep_batch(dependencies, seconds_left, counts)
    if has_more:
        log.count("SweepBehind")
    result = SweepResult(counts["woken"], counts["settled"], counts["busy"], has_more)
    log.info(
        "sweep_finished", woken=result.woken_count, settled=result.settled_count, busy=result.busy_count, left=has_more
    )
    return result


def _sweep_batch(dependencies: SweepDependencies, seconds_left: SecondsLeft, counts: "Counter[SweepOutcome]") -> bool:
    """Look at the next pieces of work, add their outcomes to `counts`, and return whether more may be due."""
    batch = dependencies.database.run(None, lambda tx: work_due.list_overdue(tx, dependencies.clock(), BATCH_SIZE + 1))
    outcomes: list[SweepOutcome] = []
    for work in batch[:BATCH_SIZE]:
        if seconds_left() < _MIN_SECONDS_LEFT:
            break
        outcomes.append(_sweep_item_safely(dependencies, work))
    counts.update(outcomes)
    return len(outcomes) < len(batch)


def handle_wakeup(dependencies: SweepDependencies, body: JsonObject) -> None:
    """Look at the one piece of work that a wake-up is about, if it is due; send the wake-up again until it is done.

    A wake-up that is early does not touch the database.
    """
    work, now = DueWork.from_json(body), dependencies.clock()
    if work.due_at <= now:
        found = dependencies.database.run(work.tenant_id, lambda tx: work_due.find(tx, work.kind, work.id))
        if found is None:
            return
        work = found
        if work.due_at <= now:
            look = _sweep_item(dependencies, work)
            if look.next_due_at:
                work = replace(work, due_at=look.next_due_at)
    if work.due_at > now:
        work_due.send_wakeup(dependencies.wakeup_queue, work, now)


def message_sender(queue: FifoQueue, message: QueueMessage) -> Callable[[], None]:
    """Return a function that sends the message, for `StaleWork.send_wakeup`."""
    return lambda: queue.send([message])


def _sweep_item_safely(dependencies: SweepDependencies, work: DueWork) -> SweepOutcome:
    """Sweep one item. When its finder raises, look at it again later, so that other items do not wait."""
    try:
        return _sweep_item(dependencies, work).outcome
    except RetryError:
        raise
    except Exception as problem:  # noqa: BLE001 - logged and counted, and the work stays due
        log.error("sweep_item_failed", problem, tenant_id=work.tenant_id, kind=work.kind, id=work.id)
        log.count("Poison")
        later = dependencies.clock() + RETRY_AFTER_ERROR
        dependencies.database.run(work.tenant_id, lambda tx: work_due.reschedule(tx, work, later))
        return "failed"


def _sweep_item(dependencies: SweepDependencies, work: DueWork) -> _ItemResult:
    """Wake, reschedule or settle the work.

    The wake-up is sent after the commit. If sending fails, the work is due again later.
    """
    now = dependencies.clock()

    def decide(tx: Transaction) -> _ItemResult:
        stale = dependencies.finders[work.kind](tx, work, now)
        if stale is None:
            work_due.complete(tx, work.kind, work.id)
            return _ItemResult("settled")
        busy_until = stale.wait_until(now)
        if busy_until:
            look = _ItemResult("busy", busy_until)
        else:  # as long as it has waited already: 5 minutes, 10, 20 ... 6 hours
            wait = min(max(now - stale.waiting_since, stale.first_wait), MAX_WAIT)
            look = _ItemResult("woken", now + wait, stale)
        return (
            look
            if look.next_due_at and work_due.reschedule(tx, work, look.next_due_at)
            else _ItemResult("changed_meanwhile")
        )

    look = dependencies.database.run(work.tenant_id, decide)
    if look.woken_work is not None:
        late = int((now - work.due_at).total_seconds())
        write_line = log.info if look.woken_work.is_planned else log.warning
        write_line("stale_work_found", tenant_id=work.tenant_id, kind=work.kind, id=work.id, late=late)
        look.woken_work.send_wakeup()
    return look
