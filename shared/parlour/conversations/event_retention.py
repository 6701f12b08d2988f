"""How long streamed text stays as events: a day. The reply of a finished turn has the same text."""

from datetime import datetime

from parlour.conversations import store
from parlour.conversations.store import KEEP_STREAMED_TEXT
from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import SWEEP_DELAY, DueWork

_BATCH_SIZE = 5_000
"""Events that one statement deletes at most; some 50 milliseconds."""

_BATCHES_PER_RUN = 10


def find_streamed_text(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Delete a tenant's streamed text that is older than a day. Return when to look at the rest; None without any."""
    for _ in range(_BATCHES_PER_RUN):
        if store.delete_streamed_text(tx, now - KEEP_STREAMED_TEXT, _BATCH_SIZE) < _BATCH_SIZE:
            break
    oldest = store.find_oldest_streamed_text(tx)
    if oldest is None:
        return None
    return StaleWork(
        work.due_at, lambda: None, not_before=max(oldest + KEEP_STREAMED_TEXT, now) + SWEEP_DELAY, is_planned=True
    )
