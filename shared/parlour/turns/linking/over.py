"""A code that nobody gave back in time: its words go, and so does a user who was made only to send it to."""

from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.turns.linking import store


def end(tx: Transaction, link_id: UUID, now: datetime) -> datetime | None:
    """Until when to wait with it; None when the code is over and nothing is left to do."""
    found = store.code_over(tx, link_id)
    if found is None or found.until is None:
        return None
    if found.until > now:
        return found.until
    store.wipe_code(tx, link_id)
    store.drop_unheard(tx, link_id, now)
    return None
