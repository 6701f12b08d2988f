"""A code that nobody gave back in time: its words go, and so does a user who was made only to send it to."""

from datetime import datetime

from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import DueWork
from parlour.turns.linking import store


def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Finder: delete an expired code, so that nothing is left to do; look again when one expires later."""
    found = store.code_over(tx, work.id)
    if found is None or found.until is None:
        return None
    if found.until > now:
        return StaleWork(work.due_at, lambda: None, not_before=found.until)
    store.wipe_code(tx, work.id)
    store.drop_unheard(tx, work.id, now)
    return None
