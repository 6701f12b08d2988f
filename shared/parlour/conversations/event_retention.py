"""How long streamed text and signs of progress stay as events: a day. The turn itself has the rest."""

from datetime import datetime

from parlour.conversations import store
from parlour.conversations.store import KEEP_PASSING_EVENTS
from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import SWEEP_DELAY, DueWork

_BATCH_SIZE = 5_000
"""Events that one statement deletes at most; some 50 milliseconds."""

_BATCHES_PER_RUN = 10


def find_passing_events(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Delete a tenant's passing events that are older than a day. Return when to look at the rest; None without any."""
    for _ in range(_BATCHES_PER_RUN):
        if store.delete_passing_events(tx, now - KEEP_PASSING_EVENTS, _BATCH_SIZE) < _BATCH_SIZE:
            break
    oldest = store.find_oldest_passing_event(tx)
    if oldest is None:
        return None
    return StaleWork(
        work.due_at, lambda: None, not_before=max(oldest + KEEP_PASSING_EVENTS, now) + SWEEP_DELAY, is_planned=True
    )
