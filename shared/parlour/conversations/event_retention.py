"""How long streamed text and signs of progress stay as events: a day. The turn itself has the rest."""

from datetime import datetime, timedelta

from parlour.conversations import store
from parlour.conversations.store import KEEP_PASSING_EVENTS
from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import DueWork

_BATCH_SIZE = 5_000
"""Events that one statement deletes at most; some 50 milliseconds."""

_BATCHES_PER_RUN = 10

_LOOK_INTERVAL = timedelta(hours=1)
"""Between two looks at a tenant, whose oldest event is a minute from its end at any time while people write."""


def find_passing_events(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Delete a tenant's passing events that are older than a day. Return when to look at the rest; None without any."""
    for _ in range(_BATCHES_PER_RUN):
        if store.delete_passing_events(tx, now - KEEP_PASSING_EVENTS, _BATCH_SIZE) < _BATCH_SIZE:
            break
    else:
        return StaleWork(work.due_at, lambda: None, rest_due_at=now, is_planned=True)
    oldest = store.find_oldest_passing_event(tx)
    if oldest is None:
        return None
    return StaleWork(
        work.due_at, lambda: None, not_before=max(oldest + KEEP_PASSING_EVENTS, now) + _LOOK_INTERVAL, is_planned=True
    )
