"""When the work of memory is due, and who is told: written down with what makes it due, sent once that is committed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.postgres import Transaction
from parlour.infra.queues import Delays
from parlour.jobs import work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import DueWork
from parlour.memory.order import Kind, Order

WAIT = timedelta(minutes=5)
"""How long a session's new turns wait for further ones before somebody looks through them."""

TURNS = 8
"""So many turns do not wait any longer."""


#: Work that nobody but the sweep wakes: it is due when it is time for it.
_PLANNED = frozenset({"consolidation", "archive"})


@dataclass(frozen=True, slots=True)
class Later:
    """A message for the memory queue, and in how many seconds it is to come."""

    order: Order
    seconds: float


def due_by(now: datetime, wait: timedelta = WAIT) -> datetime:
    """When the sweep looks after work whose message is to come after `wait`."""
    return now + wait + work_due.GRACE


def of_new_turns(tenant_id: UUID, session_id: UUID, *, is_first: bool, behind: int) -> list[Later]:
    """Who is told after a turn: whoever looks through the session, by and by where it is the first of new turns, and
    at once where there are many. `behind`: turns that nobody looked through."""
    order = Order(tenant_id, "memory", session_id)
    if behind >= TURNS and behind % TURNS == 0:
        return [Later(order, 0.0)]
    return [Later(order, WAIT.total_seconds())] if is_first else []


def send(memory: Delays, later: Sequence[Later]) -> None:
    """Send them. What cannot be sent is found by the sweep."""
    for one in later:
        try:
            memory.send(one.order.to_json(), one.seconds)
        except QueueUnavailable as problem:
            log.warning("memory_nudge_lost", tenant_id=one.order.tenant_id, kind=one.order.kind, code=problem.code)


def finder(memory: Delays, kind: Kind) -> Finder:
    """Return the finder of one kind of memory's work. Its worker completes it or reschedules it, under its lock."""

    def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
        order = Order(work.tenant_id, kind, work.id).to_json()
        leased_until = work_due.leased_until(tx, kind, work.id)
        return StaleWork(now, lambda: memory.send(order, 0.0), leased_until, is_planned=kind in _PLANNED)

    return find
