"""When the work of memory is due, and who is told: written down with what makes it due, sent once that is committed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.postgres import Transaction
from parlour.infra.queues import DelayedQueue
from parlour.jobs import work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import DueWork
from parlour.memory.memory_job import MemoryJob, MemoryJobKind
from parlour.memory.summaries import store

EXTRACTION_DELAY = timedelta(minutes=5)
"""How long a session's new turns wait for further ones before somebody looks through them."""

MAX_WAITING_TURNS = 8
"""So many turns do not wait any longer."""


#: Work that nobody but the sweep wakes: it is due when it is time for it.
_SCHEDULED_KINDS = frozenset({"consolidation", "archive"})


@dataclass(frozen=True, slots=True)
class DelayedJob:
    """A message for the memory queue, and in how many seconds it is to come."""

    job: MemoryJob
    delay_seconds: float


def sweep_due_at(now: datetime, message_delay: timedelta = EXTRACTION_DELAY) -> datetime:
    """When the sweep looks after work whose message is to come after `wait`."""
    return now + message_delay + work_due.SWEEP_DELAY


def jobs_for_new_turns(tenant_id: UUID, session_id: UUID, *, is_first: bool, unread_turns: int) -> list[DelayedJob]:
    """Who is told after a turn: whoever looks through the session, by and by where it is the first of new turns, and
    at once where there are many. `behind`: turns that nobody looked through."""
    order = MemoryJob(tenant_id, "extraction", session_id)
    if unread_turns >= MAX_WAITING_TURNS and unread_turns % MAX_WAITING_TURNS == 0:
        return [DelayedJob(order, 0.0)]
    return [DelayedJob(order, EXTRACTION_DELAY.total_seconds())] if is_first else []


def request_summary(tx: Transaction, session_id: UUID, now: datetime) -> bool:
    """Schedule a summary of the session's older turns; return False when one is due already.

    The caller sends the job's message after the commit; if it is lost, the sweep repeats it. A job that waits after a
    failure keeps its time.
    """
    return store.schedule_summary(tx, session_id, now + work_due.SWEEP_DELAY)


def send_jobs(memory_queue: DelayedQueue, delayed_jobs: Sequence[DelayedJob]) -> None:
    """Send them. What cannot be sent is found by the sweep."""
    for one in delayed_jobs:
        try:
            memory_queue.send(one.job.to_json(), one.delay_seconds)
        except QueueUnavailable as problem:
            log.warning("memory_job_send_failed", tenant_id=one.job.tenant_id, kind=one.job.kind, code=problem.code)


def stale_work_finder(memory_queue: DelayedQueue, kind: MemoryJobKind) -> Finder:
    """Return the finder of one kind of memory's work. Its worker completes it or reschedules it, under its lock."""

    def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
        order = MemoryJob(work.tenant_id, kind, work.id).to_json()
        leased_until = work_due.find_lease_end(tx, kind, work.id)
        return StaleWork(now, lambda: memory_queue.send(order, 0.0), leased_until, is_planned=kind in _SCHEDULED_KINDS)

    return find
