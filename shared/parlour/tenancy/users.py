"""End users, the identities by which channels know them, and their sessions."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import Conflict, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.principal import PUBLIC, Principal
from parlour.tenancy import audit, store
from parlour.tenancy.access import Access, compute_access, get_phone_roles
from parlour.tenancy.labels import clean_label
from parlour.tenancy.persona import Persona
from parlour.tenancy.roles import check_grant, require_role
from parlour.tenancy.rows import Contact, Session, SessionVisibility, User

__all__ = [
    "Contact",
    "Session",
    "SessionVisibility",
    "User",
    "create_visitor",
    "find_or_create_contact",
    "find_or_create_member_user",
    "get_session",
    "load_access",
    "load_user_principal",
    "open_session",
    "persona_access",
    "set_user_clearance",
    "sign_out",
]

MAX_UNUSED_SESSIONS = 20
"""Sessions of one user in which nothing was said."""


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
        delete_silent_at=now + store.KEEP_SILENT_VISITORS,
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

    Of sessions in which nothing was said, a user has 20 at most: the oldest go. NotFound when the user is gone, the
    binding is missing or inactive, or the entity is beyond their clearance. Conflict when files were sent for all 20.
    """
    if principal.id and store.delete_unused_sessions(tx, principal.id, MAX_UNUSED_SESSIONS - 1) >= MAX_UNUSED_SESSIONS:
        raise Conflict(f"write in one of your conversations first: {MAX_UNUSED_SESSIONS} have no message yet")
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


def load_access(tx: Transaction, user_id: UUID, binding_id: UUID, session_id: UUID | None = None) -> Access:
    """Return what the user may do now through this binding; read for each act, never cached.

    Name the session in which they act: where a phone writes, a member has the roles of the phone. NotFound when the
    user or the binding is gone.
    """
    acting = store.find_acting_user(tx, user_id, binding_id, session_id)
    if acting is None:
        raise NotFound("this user or binding no longer exists")
    phone_roles = get_phone_roles(acting.tenant.settings) if acting.is_by_phone else None
    return compute_access(acting.user, acting.binding, can_act=acting.can_act, phone_roles=phone_roles)


def load_user_principal(tx: Transaction, user_id: UUID, binding_id: UUID) -> Principal:
    """Return the user as they may act now through this binding. Raises NotFound as `load_access`."""
    return load_access(tx, user_id, binding_id).principal


def persona_access(persona: Persona, *, is_by_phone: bool) -> Access:
    """Return what the user of a persona may do, from what was read with it. Raises NotFound as `load_access`.

    is_by_phone  whether a phone writes in the conversation.
    """
    if persona.user is None:
        raise NotFound("this user or binding no longer exists")
    phone_roles = get_phone_roles(persona.tenant.settings) if is_by_phone else None
    return compute_access(persona.user, persona.binding, can_act=persona.agent.can_act, phone_roles=phone_roles)


def find_or_create_member_user(principal: Principal, tx: Transaction, now: datetime) -> UUID:
    """Return the user that a signed-in member talks as: with the member's clearance and roles, and a memory of it."""
    if principal.kind != "member" or principal.id is None:
        raise NotFound("this member no longer exists")
    found = store.find_member_user(tx, principal.id) or store.create_member_user(
        tx, member_id=principal.id, user_id=uuid7(now), identity_id=uuid7(now), now=now
    )
    if found is None:
        raise NotFound("this member no longer exists")
    return found


def sign_out(principal: Principal, tx: Transaction, user_id: UUID, now: datetime) -> None:
    """Refuse every token that the user has from now on: for themselves, or by an administrator; audited.

    NotFound when there is no such user.
    """
    if principal.kind != "user":
        require_role(principal, "admin")
    if not store.raise_token_epoch(tx, user_id):
        raise NotFound("user not found")
    audit.add_entry(principal, tx, "user.signed_out", f"user:{user_id}", {}, now)


def set_user_clearance(
    principal: Principal, tx: Transaction, user_id: UUID, clearance: int | None, now: datetime
) -> None:
    """Set what a user may see through every binding; None: what the binding says. Needs admin, and no key may; audited.

    NotFound when there is no such user, or it is a member's: a member's clearance is the member's. Forbidden and
    InvalidRequest as `check_grant`.
    """
    check_grant(principal, (), PUBLIC if clearance is None else clearance)
    if not store.set_user_clearance(tx, user_id, clearance):
        raise NotFound("user not found; a member's clearance is changed with the member")
    audit.add_entry(principal, tx, "user.clearance_set", f"user:{user_id}", {"clearance": clearance}, now)


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
