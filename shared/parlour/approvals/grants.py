"""Permissions to run a tool without a question: given by the person who is asked, listed, and revocable."""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.approvals import store
from parlour.approvals.approvals import is_approver, may_answer
from parlour.approvals.rows import Approval, Grant, GrantGiver
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, roles

MAX_GRANT_AGE = timedelta(days=90)
"""How long a permission holds at most."""


def grant(principal: Principal, tx: Transaction, approval: Approval, expires_at: datetime, now: datetime) -> Grant:
    """Let later calls of the tool that was asked about run without a question, for the question's user and binding.

    Raises:
        Forbidden: somebody else is asked.
        InvalidRequest: the time is wrong.
    """
    if not may_answer(principal, approval):
        raise Forbidden("only the person who is asked can allow this for longer")
    if not now < expires_at <= now + MAX_GRANT_AGE:
        raise InvalidRequest(f"until: use a time in the future, at most {MAX_GRANT_AGE.days} days from now")
    made = Grant(uuid7(now), approval.user_id, approval.binding_id, approval.tool, principal.name, now, expires_at)
    store.insert_grant(tx, made)
    audit.add_entry(principal, tx, "approval.granted", f"approval_grant:{made.id}", {"tool": approval.tool}, now)
    return made


def is_granted(
    principal: Principal, tx: Transaction, session_id: UUID, binding_id: UUID, tool: str, now: datetime
) -> bool:
    """Return whether somebody allowed the tool for the session's user who could approve a call of it now."""
    givers = store.list_grant_givers(tx, session_id=session_id, binding_id=binding_id, tool=tool, now=now)
    return any(_could_approve(principal.tenant_id, giver) for giver in givers)


def list_grants(principal: Principal, tx: Transaction, now: datetime, limit: int, cursor: str = "") -> Page[Grant]:
    """Return the permissions that hold now, latest first: a user's own, or those that a member may read."""
    before_at, before_id = decode_id_cursor(cursor) if cursor else (None, None)
    rows = store.list_grants(
        tx,
        now=now,
        user_id=_own_id(principal, "viewer"),
        clearance=principal.clearance,
        before_at=before_at,
        before_id=before_id,
        limit=limit + 1,
    )
    return cut_page(rows, limit, lambda row: (row.created_at, row.id))


def revoke(principal: Principal, tx: Transaction, grant_id: UUID, now: datetime) -> None:
    """End a permission now: one's own, or any as an administrator. NotFound when there is none."""
    if not store.revoke_grant(tx, grant_id, _own_id(principal, "admin"), principal.clearance, now):
        raise NotFound("permission not found")
    audit.add_entry(principal, tx, "approval.grant_revoked", f"approval_grant:{grant_id}", {}, now)


def _could_approve(tenant_id: UUID, giver: GrantGiver) -> bool:
    """Return whether the giver of a permission, with the rights that they have now, would be asked about a call."""
    kind, _, label = giver.granted_by.partition(":")
    match kind:
        case "operator":
            person = roles.operator_principal(tenant_id, label)
        case "user" | "member" | "key":
            person = Principal(tenant_id, kind, UUID(label), frozenset(giver.roles), giver.clearance)
        case _:
            return False
    is_shown = person.kind == "user" or giver.required_clearance <= person.clearance
    return is_shown and is_approver(person, giver.approver, giver.user_id)


def _own_id(principal: Principal, role: str) -> UUID | None:
    """Return the id of a user, who reaches their own only; None for a member who holds the role."""
    if principal.kind == "user":
        return principal.id
    roles.require_role(principal, role)
    return None
