"""The audit trail: who did which administrative act to what, and when. Written and read, never rewritten."""

from datetime import datetime
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.roles import require_role
from parlour.tenancy.rows import AuditEntry

__all__ = ["AuditEntry", "add_entry", "list_entries"]


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


def list_entries(principal: Principal, tx: Transaction, limit: int, cursor: str = "") -> Page[AuditEntry]:
    """Return a page of the acts, the latest first. Needs the role viewer; InvalidRequest for a bad cursor."""
    require_role(principal, "viewer")
    rows = store.list_audit_entries(tx, principal.clearance, limit + 1, decode_id_cursor(cursor) if cursor else None)
    return cut_page(rows, limit, lambda entry: (entry.at, entry.id))
