"""The audit trail: who did which administrative act to what, and when. Written and read, never rewritten."""

from datetime import datetime
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.roles import require_role
from parlour.tenancy.rows import AuditEntry

__all__ = ["AuditEntry", "add_entry", "list_entries"]

_MAX_ENTRIES = 200


def add_entry(
    principal: Principal,
    tx: Transaction,
    action: str,
    target: str,
    details: JsonObject,
    now: datetime,
    entry_id: UUID | None = None,
) -> None:
    """Add an act, in the transaction that does it.

    action   `<noun>.<past participle>`, such as `key.revoked`.
    target   `<kind>:<id>`.
    details  ids, numbers, roles and states; nothing personal and no secret.
    entry_id for a transaction that may run twice: the same act is stored once.
    """
    store.add_audit_entry(
        tx,
        id=entry_id or uuid7(now),
        actor=principal.name,
        action=action,
        target=target,
        details=details,
        now=now,
    )


def list_entries(
    principal: Principal, tx: Transaction, limit: int, before: AuditEntry | None = None
) -> list[AuditEntry]:
    """Return the latest acts, at most 200, from before an entry that was read earlier. Needs the role viewer."""
    require_role(principal, "viewer")
    return store.list_audit_entries(tx, min(max(limit, 1), _MAX_ENTRIES), before)
