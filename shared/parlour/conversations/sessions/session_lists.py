"""Which sessions there are: a user's own with one binding, and those of others that somebody of the tenant may read."""

from uuid import UUID

from parlour.conversations.sessions import store
from parlour.conversations.sessions.store import SessionListItem
from parlour.infra.errors import Forbidden
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy.rows import SessionVisibility

__all__ = ["MAX_SESSIONS", "SessionListItem", "find_latest_session", "list_own_sessions", "list_readable_sessions"]

MAX_SESSIONS = 200
"""Sessions in one list."""


def list_own_sessions(
    principal: Principal,
    tx: Transaction,
    binding_id: UUID,
    *,
    entity_id: UUID | None = None,
    is_archived: bool = False,
    limit: int = MAX_SESSIONS,
) -> list[SessionListItem]:
    """Return the user's own sessions with that binding, pinned ones first, then the latest.

    Archived ones only when asked for. `entity_id` leaves those about that record. Only users have sessions.
    """
    if principal.kind != "user" or principal.id is None:
        return []
    return store.list_own_sessions(
        tx, principal.id, binding_id, entity_id=entity_id, archived=is_archived, limit=min(limit, MAX_SESSIONS)
    )


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
    limit: int = MAX_SESSIONS,
) -> list[SessionListItem]:
    """Sessions about a record, of a user, or both, that somebody of the tenant may read (`people.session_of`), the
    latest first. Raises Forbidden for a user, who has only their own."""
    if principal.kind == "user":
        raise Forbidden("use the visitor's own token to list their conversations")
    return store.list_readable_sessions(
        tx,
        entity_id=entity_id,
        user_id=user_id,
        visibilities=_readable_visibilities(principal),
        clearance=principal.clearance,
        archived=is_archived,
        limit=min(limit, MAX_SESSIONS),
    )


def _readable_visibilities(principal: Principal) -> tuple[SessionVisibility, ...]:
    if principal.has_role("viewer") or principal.kind == "system":
        return ("private", "role_gated", "shared")
    return ("role_gated", "shared") if principal.has_role("editor") else ("shared",)
