"""The room's only way to the database."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.approvals.rows import Approval, Grant, GrantGiver, NamedRecord
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


def insert_approval(tx: Transaction, approval: Approval) -> None:
    tx.run(SQL["insert_approval"], **{name: getattr(approval, name) for name in Approval.__slots__})


def withdraw_same_tool(tx: Transaction, approval: Approval) -> None:
    tx.run(
        SQL["withdraw_same_tool"],
        session_id=approval.session_id,
        tool=approval.tool,
        bound_hash=approval.bound_hash,
        tool_call_id=approval.tool_call_id,
        now=approval.created_at,
    )


def find_approval(tx: Transaction, approval_id: UUID) -> Approval | None:
    return tx.first(SQL["find_approval"], Approval, id=approval_id)


def lock_approval(tx: Transaction, approval_id: UUID) -> Approval | None:
    return tx.first(SQL["lock_approval"], Approval, id=approval_id)


def lock_call_approval(tx: Transaction, tool_call_id: UUID) -> Approval | None:
    return tx.first(SQL["lock_call_approval"], Approval, tool_call_id=tool_call_id)


def list_open(tx: Transaction, session_id: UUID) -> list[Approval]:
    return tx.all(SQL["list_open"], Approval, session_id=session_id)


def list_approved(tx: Transaction, session_id: UUID) -> list[Approval]:
    return tx.all(SQL["list_approved"], Approval, session_id=session_id)


def list_closed_in_turn(tx: Transaction, turn_id: UUID) -> list[Approval]:
    return tx.all(SQL["list_closed_in_turn"], Approval, turn_id=turn_id)


def list_approvals(tx: Transaction, **filters: object) -> list[Approval]:
    return tx.all(SQL["list_approvals"], Approval, **filters)


def mark_posted(tx: Transaction, session_id: UUID, now: datetime) -> None:
    tx.run(SQL["mark_posted"], session_id=session_id, now=now)


def approve(tx: Transaction, approval_id: UUID, by: str, now: datetime) -> None:
    tx.run(SQL["approve"], id=approval_id, by=by, now=now)


def refuse(tx: Transaction, approval_id: UUID, by: str, reason: str, now: datetime) -> None:
    tx.run(SQL["refuse"], id=approval_id, by=by, reason=reason, now=now)


def close(
    tx: Transaction, approval_id: UUID, state: Literal["expired", "superseded"], reason: str, now: datetime
) -> None:
    tx.run(SQL["close"], id=approval_id, state=state, reason=reason, now=now)


def claim(tx: Transaction, approval_id: UUID, now: datetime) -> bool:
    """Whether this transaction claimed it."""
    return tx.value(SQL["claim"], id=approval_id, now=now) is not None


def complete(tx: Transaction, tool_call_id: UUID, now: datetime) -> None:
    tx.run(SQL["complete"], tool_call_id=tool_call_id, now=now)


def list_named_records(tx: Transaction, names: Sequence[str]) -> list[NamedRecord]:
    return tx.all(SQL["list_named_records"], NamedRecord, names=list(names)) if names else []


def is_tool_offered(tx: Transaction, binding_id: UUID, tool: str) -> bool:
    """Whether the tenant is active and the binding's agent has the tool."""
    return tx.value(SQL["is_tool_offered"], binding_id=binding_id, tool=tool) is not None


def insert_grant(tx: Transaction, grant: Grant) -> None:
    tx.run(SQL["insert_grant"], **{name: getattr(grant, name) for name in Grant.__slots__})


def list_grant_givers(tx: Transaction, **call: object) -> list[GrantGiver]:
    return tx.all(SQL["list_grant_givers"], GrantGiver, **call)


def list_grants(tx: Transaction, **filters: object) -> list[Grant]:
    return tx.all(SQL["list_grants"], Grant, **filters)


def revoke_grant(tx: Transaction, grant_id: UUID, user_id: UUID | None, clearance: int, now: datetime) -> bool:
    return tx.run(SQL["revoke_grant"], id=grant_id, user_id=user_id, clearance=clearance, now=now) > 0
