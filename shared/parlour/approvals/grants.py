"""Permissions to run matching calls without a question: given by the person who is asked, listed, and revocable."""

import re
from datetime import datetime, timedelta
from uuid import UUID

from parlour.approvals import store
from parlour.approvals.approvals import may_answer
from parlour.approvals.rows import Approval, Grant
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, roles

MAX_GRANT_AGE = timedelta(days=90)
"""How long a permission holds at most."""

_PATTERN = re.compile(r"[a-z][a-z0-9_*]{0,63}")


def grant(
    principal: Principal, tx: Transaction, approval: Approval, tool: str, expires_at: datetime, now: datetime
) -> Grant:
    """Let calls of the matching tools run without a question, for the question's user and binding.

    `tool` is a tool's name, or the start of names with `*`; "" is the tool that was asked about.

    Raises:
        Forbidden: somebody else is asked.
        InvalidRequest: the pattern or the time is wrong.
    """
    if not may_answer(principal, approval):
        raise Forbidden("only the person who is asked can allow this for longer")
    pattern = tool or approval.tool
    if not _PATTERN.fullmatch(pattern):
        raise InvalidRequest("tool: use a tool's name, or the beginning of names with *, such as create_*")
    if not now < expires_at <= now + MAX_GRANT_AGE:
        raise InvalidRequest(f"until: use a time in the future, at most {MAX_GRANT_AGE.days} days from now")
    made = Grant(uuid7(now), approval.user_id, approval.binding_id, pattern, principal.name, now, expires_at)
    store.insert_grant(tx, made)
    audit.add_entry(principal, tx, "approval.granted", f"approval_grant:{made.id}", {"tool": pattern}, now)
    return made


def list_active_grants(tx: Transaction, user_id: UUID, binding_id: UUID, now: datetime) -> list[Grant]:
    """Return the permissions of a user with a binding that hold now."""
    return store.list_active_grants(tx, user_id, binding_id, now)


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


def _own_id(principal: Principal, role: str) -> UUID | None:
    """Return the id of a user, who reaches their own only; None for a member who holds the role."""
    if principal.kind == "user":
        return principal.id
    roles.require_role(principal, role)
    return None
