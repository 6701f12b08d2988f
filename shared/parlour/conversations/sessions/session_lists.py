"""Which sessions there are: a user's own with one binding, and those of others that somebody of the tenant may read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.conversations.sessions import store
from parlour.conversations.sessions.store import (
    ConversationFilter,
    ConversationRow,
    ConversationState,
    SessionFilter,
    SessionListItem,
)
from parlour.infra.errors import Forbidden, NotFound
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor, decode_position, encode_cursor, parse_time
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import roles
from parlour.tenancy.rows import SessionVisibility

__all__ = [
    "MAX_SESSIONS",
    "ConversationFilter",
    "ConversationPage",
    "ConversationRow",
    "ConversationState",
    "SessionListItem",
    "find_latest_session",
    "get_conversation",
    "list_conversations",
    "list_own_sessions",
    "list_readable_sessions",
]

MAX_SESSIONS = 200
"""Sessions in one list."""


@dataclass(frozen=True, slots=True)
class ConversationPage:
    """Some conversations, newest activity first; next_cursor: "" when these are the last."""

    conversations: Sequence[ConversationRow]
    next_cursor: str = ""


def list_conversations(
    principal: Principal, tx: Transaction, wanted: ConversationFilter, cursor: str = "", limit: int = 50
) -> ConversationPage:
    """Return a page of the tenant's conversations, also archived ones. Needs viewer; InvalidRequest for a bad cursor.

    A conversation above the viewer's clearance is left out, as in `list_readable_sessions`.
    """
    roles.require_role(principal, "viewer")
    after = decode_id_cursor(cursor) if cursor else None
    rows = store.list_conversations(tx, wanted, after=after, clearance=principal.clearance, limit=limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    return ConversationPage(rows[:limit], encode_cursor(last.last_active_at, last.id) if last else "")


def get_conversation(principal: Principal, tx: Transaction, session_id: UUID) -> ConversationRow:
    """Return one conversation as the list shows it. Needs viewer; NotFound when the viewer may not read it."""
    roles.require_role(principal, "viewer")
    only = ConversationFilter(session_id=session_id)
    found = store.list_conversations(tx, only, after=None, clearance=principal.clearance, limit=1)
    if not found:
        raise NotFound("conversation not found; list the conversations for those that you may read")
    return found[0]


def list_own_sessions(
    principal: Principal,
    tx: Transaction,
    binding_id: UUID,
    *,
    entity_id: UUID | None = None,
    is_archived: bool = False,
    cursor: str = "",
    limit: int = MAX_SESSIONS,
) -> Page[SessionListItem]:
    """Return a page of the user's own sessions with that binding, pinned ones first, then the latest.

    Archived ones only when asked for. `entity_id` leaves those about that record. Only users have sessions.

    Raises:
        InvalidRequest: the cursor is none.
    """
    if principal.kind != "user" or principal.id is None:
        return Page([])
    after: tuple[bool, datetime, UUID] | None = None
    if cursor:
        is_pinned, at, session_id = decode_position(cursor, bool, parse_time, UUID)
        after = is_pinned, at, session_id
    rows = store.list_own_sessions(
        tx,
        principal.id,
        binding_id,
        entity_id=entity_id,
        archived=is_archived,
        after=after,
        limit=limit + 1,
    )
    return cut_page(rows, limit, lambda session: (session.pinned_at is not None, session.last_active_at, session.id))


def find_latest_session(principal: Principal, tx: Transaction, binding_id: UUID, entity_id: UUID | None) -> UUID | None:
    """Return the session that the user continues: the latest about that record, or about none, not archived."""
    return (
        store.find_latest_session(tx, principal.id, binding_id, entity_id)
        if principal.kind == "user" and principal.id
        else None
    )


def list_readable_sessions(
    principal: Principal,
    tx: Transaction,
    *,
    entity_id: UUID | None = None,
    user_id: UUID | None = None,
    is_archived: bool = False,
    cursor: str = "",
    limit: int = MAX_SESSIONS,
) -> Page[SessionListItem]:
    """Return a page of the sessions about a record, of a user, or both, that somebody of the tenant may read.

    The latest are first. Forbidden for a user, who has only their own; InvalidRequest for a bad cursor.
    """
    if principal.kind == "user":
        raise Forbidden("use the visitor's own token to list their conversations")
    rows = store.list_readable_sessions(
        tx,
        SessionFilter(entity_id, user_id, is_archived),
        visibilities=_readable_visibilities(principal),
        clearance=principal.clearance,
        after=decode_id_cursor(cursor) if cursor else None,
        limit=limit + 1,
    )
    return cut_page(rows, limit, lambda session: (session.last_active_at, session.id))


def _readable_visibilities(principal: Principal) -> tuple[SessionVisibility, ...]:
    if principal.has_role("viewer") or principal.kind == "system":
        return ("private", "role_gated", "shared")
    return ("role_gated", "shared") if principal.has_role("editor") else ("shared",)
