"""A code that nobody gave back in time: its words go, and so does a user who was made only to send it to."""

from datetime import datetime

from parlour.conversations.linking import store
from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import StaleWork
from parlour.jobs.work_due import DueWork


def find_expired_code(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
    """Finder: delete an expired code, so that nothing is left to do; look again when one expires later."""
    found = store.find_code_expiry(tx, work.id)
    if found is None or found.expires_at is None:
        return None
    if found.expires_at > now:
        return StaleWork(work.due_at, lambda: None, not_before=found.expires_at)
    store.erase_code_text(tx, work.id)
    store.delete_unused_contact(tx, work.id, now)
    return None
