"""What a user makes of a session of theirs: a title of their own, first in the list, put away, open to others."""

from dataclasses import replace
from datetime import datetime
from uuid import UUID

from parlour.conversations.sessions import store
from parlour.conversations.sessions.store import SessionUpdate
from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy.labels import validate_label

__all__ = ["SessionUpdate", "update_session"]


def update_session(
    principal: Principal, tx: Transaction, session_id: UUID, update: SessionUpdate, now: datetime
) -> None:
    """Do that to one's own session. A session that is put away stays searchable, and comes back with the next message
    written there; what its agent held in mind (`agent_states`) goes. Of one that others may read
    nothing is remembered, nor of one that is private again what was said by then.

    Raises NotFound when it is not the principal's own, InvalidRequest for a title that nobody could read.
    """
    title = None if update.title is None else validate_label("title", update.title)
    is_theirs = (
        principal.kind == "user"
        and principal.id is not None
        and store.update_session(
            tx,
            session_id,
            principal.id,
            replace(update, title=title),
            now,
        )
    )
    if not is_theirs:
        raise NotFound("session not found")
