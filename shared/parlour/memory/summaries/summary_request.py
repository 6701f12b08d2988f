"""A summary that is wanted: written down by whoever wants it, in the transaction that makes it so."""

from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.jobs.work_due import SWEEP_DELAY
from parlour.memory.summaries import store


def request_summary(tx: Transaction, session_id: UUID, now: datetime) -> bool:
    """The session's older turns want a summary, or what is left of them another one. The message that has it written is
    sent once this is committed; should it be lost, the sweep looks after it. False when it was wanted already: of tries
    that gave nothing the next one has its time."""
    return store.schedule_summary(tx, session_id, now + SWEEP_DELAY)
