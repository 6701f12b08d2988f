"""When a conversation counts as silent, and how long it has to be. Pure rules, and the mark that they make."""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.memory.consolidating import store
from parlour.memory.consolidating.store import Silent

SILENT = timedelta(hours=24)
"""A conversation in which nothing was said for so long is looked through once more."""

TURNS = 20
"""One with more answered turns than this, since it was last; a shorter one was read whole on the way."""


def note(tx: Transaction, session_id: UUID) -> None:
    """Something was said and looked through: have the session looked at when it has fallen silent, if it is long."""
    store.note_silence(tx, session_id, SILENT, TURNS)


def ready_at(found: Silent | None) -> datetime | None:
    """From when on the session may be consolidated; None where there is nothing to do."""
    if found is None or found.turns <= TURNS:
        return None
    return found.last_active_at + SILENT
