"""How long what was kept of prompts stays: whole months, once the last of their days is old enough."""

from datetime import UTC, date, datetime, time, timedelta

from parlour.infra.postgres import Transaction
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import SWEEP_DELAY, DueWork
from parlour.prompts.ledger import store

_BATCH_SIZE = 2_000
"""Ledgers, and texts, that one statement removes at most; some 50 milliseconds."""

#: How often one look at a tenant's old prompts removes some of them.
_BATCHES_PER_RUN = 10


def month_of(at: datetime) -> date:
    """Return the month that a prompt is stored under, as its first day."""
    return at.astimezone(UTC).date().replace(day=1)


def month_end(month: date) -> datetime:
    """When a month is over: what was kept of it gets older from then on."""
    return datetime.combine((month + timedelta(days=31)).replace(day=1), time(), UTC)


def delete_expired_batch(tx: Transaction, before: datetime) -> bool:
    """Remove some of what was kept of months that were over `before`; return whether there may be more of it."""
    return store.delete_before(tx, month_of(before), _BATCH_SIZE) >= _BATCH_SIZE


def next_expiry(tx: Transaction) -> datetime | None:
    """Return when the oldest month of which something is kept is over; None when nothing is kept."""
    oldest = store.find_oldest_month(tx)
    return month_end(oldest) if oldest else None


def expired_prompt_finder(ledger_days: int) -> Finder:
    """Return the finder that removes prompts of months that were over so many days ago, a bounded number at a time.

    Then the work is due again when the next month is old enough.
    """
    keep_for = timedelta(days=ledger_days)

    def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
        for _ in range(_BATCHES_PER_RUN):
            if not delete_expired_batch(tx, now - keep_for):
                break
        over = next_expiry(tx)
        return (
            StaleWork(work.due_at, lambda: None, not_before=max(over + keep_for, now + SWEEP_DELAY)) if over else None
        )

    return find
