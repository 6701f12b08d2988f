"""How long visitors stay who opened a chat and wrote nothing: 30 days."""

from datetime import datetime, timedelta

from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import DueWork
from parlour.tenancy import store
from parlour.tenancy.store import KEEP_SILENT_VISITORS

_INTERVAL = timedelta(days=1)

_LOOK_BACK = KEEP_SILENT_VISITORS + 2 * _INTERVAL
"""How long before a run's due time the visitors came that it looks at first."""

_BATCH_SIZE = 1_000
"""Visitors that one statement deletes at most, each with a session and an address."""

_BATCHES_PER_RUN = 10

_WINDOW = timedelta(days=7)
"""A statement looks at the visitors of a week at most, so its time is bounded also where most of them stay."""


def find_silent_visitors(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Delete a tenant's visitors who wrote nothing in their first 30 days. Return when to look again; None without any.

    A run goes on where the run before ended, which the due time says: its cost does not grow with the tenant's users.
    """
    since, before = work.due_at - _LOOK_BACK, now - KEEP_SILENT_VISITORS
    for _ in range(_BATCHES_PER_RUN):
        until = min(since + _WINDOW, before)
        if store.delete_silent_visitors(tx, since, until, _BATCH_SIZE) < _BATCH_SIZE:
            since = until
        if since >= before:
            break
    else:
        return StaleWork(work.due_at, lambda: None, rest_due_at=since + _LOOK_BACK, is_planned=True)
    if not store.has_visitors_since(tx, before):
        return None
    return StaleWork(work.due_at, lambda: None, not_before=now + _INTERVAL, is_planned=True)
