"""A summary that is wanted: written down by whoever wants it, in the transaction that makes it so."""

from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.jobs.work_due import SWEEP_DELAY
from parlour.memory.summaries import store


def request_summary(tx: Transaction, session_id: UUID, now: datetime) -> bool:
    """Schedule a summary of the session's older turns; return False when one is due already.

    The caller sends the job's message after the commit; if it is lost, the sweep repeats it. A job that waits after a
    failure keeps its time.
    """
    return store.schedule_summary(tx, session_id, now + SWEEP_DELAY)
