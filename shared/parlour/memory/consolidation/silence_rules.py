"""When a conversation counts as silent, and how long it has to be. Pure rules, and the mark that they make."""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.memory.consolidation import store
from parlour.memory.consolidation.store import SilentSession

SILENCE_PERIOD = timedelta(hours=24)
"""A conversation in which nothing was said for so long is looked through once more."""

MIN_TURNS = 20
"""One with more answered turns than this, since it was last; a shorter one was read whole on the way."""


def schedule_consolidation(tx: Transaction, session_id: UUID) -> None:
    """Something was said and looked through: have the session looked at when it has fallen silent, if it is long."""
    store.schedule_consolidation(tx, session_id, SILENCE_PERIOD, MIN_TURNS)


def consolidation_due_at(session: SilentSession | None) -> datetime | None:
    """From when on the session may be consolidated; None where there is nothing to do."""
    if session is None or session.turn_count <= MIN_TURNS:
        return None
    return session.last_active_at + SILENCE_PERIOD
