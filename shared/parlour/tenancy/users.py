"""End users, the identities by which channels know them, and their sessions."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.labels import clean_label
from parlour.tenancy.persona import Persona
from parlour.tenancy.rows import Contact, Session, SessionVisibility, User

__all__ = [
    "Contact",
    "Session",
    "SessionVisibility",
    "User",
    "create_visitor",
    "find_or_create_contact",
    "get_session",
    "load_user_principal",
    "open_session",
    "user_principal",
]


def find_or_create_contact(
    tx: Transaction,
    *,
    channel: str,
    address: str,
    display_name: str | None,
    binding_id: UUID,
    now: datetime,
) -> Contact:
    """Who writes from `address` on a messaging channel, and in which session.

    It is a phone number (E.164), or without a plus the provider's own id of somebody who hides theirs.

    One statement: the identity, the user with that number and the one main session of user and binding are found
    or made, safely against the same person's message arriving elsewhere at the same moment. It also marks the
    session as active, which locks its row: what the transaction stores after it is in order of commit. Of the
    display name, which the provider sends, only what is readable is kept.
    """
    return store.find_or_create_contact(
        tx,
        channel=channel,
        address=address,
        display_name=clean_label(display_name),
        binding_id=binding_id,
        user_id=uuid7(now),
        identity_id=uuid7(now),
        session_id=uuid7(now),
        now=now,
    )


def create_visitor(
    tx: Transaction,
    *,
    binding_id: UUID,
    entity_id: UUID | None = None,
    visibility: SessionVisibility = "private",
    now: datetime,
) -> Contact:
    """Create a visitor on the web, with a session; its identity's address is the user's id.

    A session about an entity is visible to others as the entity's type says. NotFound when the binding is missing or
    inactive, or the entity is beyond its clearance.
    """
    opened = store.create_visitor(
        tx,
        binding_id=binding_id,
        entity_id=entity_id,
        visibility=visibility,
        user_id=uuid7(now),
        identity_id=uuid7(now),
        session_id=uuid7(now),
        now=now,
    )
    if opened is None:
        raise NotFound("agent not found; list the bindings")
    return opened


def open_session(
    principal: Principal,
    tx: Transaction,
    *,
    binding_id: UUID,
    entity_id: UUID | None = None,
    visibility: SessionVisibility = "private",
    now: datetime,
) -> Session:
    """Open a further session of a user on the web, about an entity if one is named.

    NotFound when the user is gone, the binding is missing or inactive, or the entity is beyond their clearance.
    """
    opened = principal.id and store.open_session(
        tx,
        user_id=principal.id,
        binding_id=binding_id,
        entity_id=entity_id,
        visibility=visibility,
        clearance=principal.clearance,
        session_id=uuid7(now),
        now=now,
    )
    if not opened:
        raise NotFound("agent or record not found; list the bindings")
    return opened


def get_session(principal: Principal, tx: Transaction, session_id: UUID) -> Session:
    """Return the session, if the principal may read it.

    Its user, Parlour itself, a viewer of the tenant with enough clearance, and members to whom it was opened may.
    NotFound otherwise, so that nobody learns which ids exist.
    """
    found = store.find_session(tx, session_id)
    if found is None or not _can_read(principal, found):
        raise NotFound("session not found; open one first")
    return found


def can_read_session(principal: Principal, tx: Transaction, session_id: UUID) -> bool:
    """Whether `session_of` would return it."""
    found = store.find_session(tx, session_id)
    return found is not None and _can_read(principal, found)


def load_user_principal(tx: Transaction, user_id: UUID, binding_id: UUID) -> Principal:
    """Return the user as they may act now through this binding; read for each turn, never cached.

    NotFound when the user or the binding is gone.
    """
    acting = store.find_acting_user(tx, user_id, binding_id)
    if acting is None:
        raise NotFound("this user or binding no longer exists")
    return Principal(acting.tenant_id, "user", acting.id, clearance=acting.clearance)


def user_principal(persona: Persona) -> Principal:
    """As `principal_of`, for a persona that was read with its user."""
    talking, binding = persona.user, persona.binding
    if talking is None:
        raise NotFound("this user or binding no longer exists")
    clearance = binding.clearance if talking.clearance is None else talking.clearance
    return Principal(persona.tenant.tenant_id, "user", talking.id, clearance=clearance)


def _can_read(principal: Principal, session: Session) -> bool:
    if principal.kind == "user":
        return principal.id == session.user_id
    return principal.kind == "system" or (
        _is_visible_to(principal, session) and session.required_clearance <= principal.clearance
    )


def _is_visible_to(principal: Principal, session: Session) -> bool:
    """Whether somebody of the tenant, no user of it, meets the session; viewers read what an operator sees: all."""
    if session.visibility == "shared" or principal.has_role("viewer"):
        return True
    return session.visibility == "role_gated" and principal.has_role("editor")
