"""How long visitors stay who opened a chat and wrote nothing: 30 days."""

from datetime import datetime, timedelta

from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import DueWork
from parlour.tenancy import store
from parlour.tenancy.store import KEEP_SILENT_VISITORS

_INTERVAL = timedelta(days=1)

_BATCH_SIZE = 1_000
"""Visitors that one statement deletes at most, each with a session and an address."""

_BATCHES_PER_RUN = 10


def find_silent_visitors(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Delete a tenant's visitors who wrote nothing in their first 30 days. Return when to look again; None without any.

    A run looks at those who came since the run before, so its cost does not grow with the tenant's users.
    """
    before = now - KEEP_SILENT_VISITORS
    since = work.due_at - KEEP_SILENT_VISITORS - 2 * _INTERVAL
    for _ in range(_BATCHES_PER_RUN):
        if store.delete_silent_visitors(tx, since, before, _BATCH_SIZE) < _BATCH_SIZE:
            break
    else:
        return StaleWork(work.due_at, lambda: None, is_planned=True)
    if not store.has_visitors_since(tx, before):
        return None
    return StaleWork(work.due_at, lambda: None, not_before=now + _INTERVAL, is_planned=True)
