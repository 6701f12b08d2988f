"""The tenant's own people: who may sign in with an OIDC token, and what they may do."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import Conflict, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.page_cursor import Page, cut_page, decode_position, parse_text
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, store
from parlour.tenancy.labels import validate_identifier, validate_label
from parlour.tenancy.roles import check_grant, require_role
from parlour.tenancy.rows import Member

__all__ = ["Member", "MemberChange", "NewMember", "add_member", "list_members", "update_member"]


@dataclass(frozen=True, slots=True)
class NewMember:
    """A person to let in: whom `issuer` calls `subject` in the OIDC tokens that they sign in with."""

    issuer: str
    subject: str
    display_name: str
    roles: Collection[str]
    clearance: int
    email: str = ""


@dataclass(frozen=True, slots=True)
class MemberChange:
    """What a member may do from now on.

    email  where they are told of conversations: None keeps the address, "" takes it away.
    """

    roles: Collection[str]
    clearance: int
    active: bool
    email: str | None = None


def add_member(principal: Principal, tx: Transaction, new: NewMember, now: datetime) -> Member:
    """Let a person sign in to the tenant. Needs admin, and no key may; audited.

    Raises Conflict when they are a member already, Forbidden and InvalidRequest as `check_grant`.
    """
    check_grant(principal, new.roles, new.clearance)
    member = store.add_member(
        tx,
        member_id=uuid7(now),
        issuer=validate_identifier("issuer", new.issuer),
        subject=validate_identifier("subject", new.subject),
        display_name=validate_label("display_name", new.display_name),
        roles=sorted(set(new.roles)),
        clearance=new.clearance,
        email=new.email,
        now=now,
    )
    if member is None:
        raise Conflict("this person is already a member; change their roles instead")
    _add_audit_entry(principal, tx, "member.added", member, now)
    return member


def update_member(
    principal: Principal, tx: Transaction, member_id: UUID, change: MemberChange, now: datetime
) -> Member:
    """Set what a member may do from the next request on. Needs admin, and no key may; audited.

    Raises NotFound; Forbidden and InvalidRequest as `check_grant`.
    """
    check_grant(principal, change.roles, change.clearance)
    member = store.update_member(
        tx,
        member_id=member_id,
        roles=sorted(set(change.roles)),
        clearance=change.clearance,
        active=change.active,
        email=change.email,
        own_clearance=principal.clearance,
    )
    if member is None:
        raise NotFound("no member with this id has at most your clearance; reload the list, or ask who has more")
    _add_audit_entry(principal, tx, "member.changed", member, now)
    return member


def list_members(principal: Principal, tx: Transaction, limit: int = 100, cursor: str = "") -> Page[Member]:
    """Return a page of the tenant's members, by name. Needs admin; InvalidRequest for a bad cursor."""
    require_role(principal, "admin")
    after = decode_position(cursor, parse_text, UUID) if cursor else None
    rows = store.list_members(tx, limit + 1, (after[0], after[1]) if after else None)
    return cut_page(rows, limit, lambda member: (member.display_name, member.id))


def _add_audit_entry(principal: Principal, tx: Transaction, action: str, member: Member, now: datetime) -> None:
    details: JsonObject = {"roles": [*member.roles], "clearance": member.clearance, "active": member.active}
    audit.add_entry(principal, tx, action, f"member:{member.id}", details, now)
