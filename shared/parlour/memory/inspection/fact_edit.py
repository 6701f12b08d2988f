"""A fact put right by a person: by the user it is about, or by an editor of the tenant."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.memory.facts.fact import MAX_VALUE_CHARS
from parlour.memory.inspection import store
from parlour.memory.inspection.store import EditableFactRow
from parlour.principal import Principal
from parlour.tenancy import audit, roles
from parlour.tenancy.labels import is_readable
from parlour.text.sensitive_data import is_sensitive


def edit_fact(
    principal: Principal,
    tx: Transaction,
    fact_id: UUID,
    value: str,
    binding_id: UUID | None,
    now: datetime,
) -> UUID:
    """Say what the fact is; the id of what stands there now, which is the same one where nothing differs.

    The value that was there ends and is kept as what was known before. `binding_id`: the agent whose memory a user may
    change. Raises NotFound for a fact that is not theirs or lives no more, Forbidden for somebody of the tenant who is
    no editor, InvalidRequest for a value that nobody could read, or that is never kept: a password, a card.
    """
    held = lock_editable_fact(principal, tx, fact_id, binding_id)
    wanted = " ".join(value.split())
    if not wanted or len(wanted) > MAX_VALUE_CHARS or not is_readable(wanted):
        raise InvalidRequest(f"value: use 1 to {MAX_VALUE_CHARS} printable characters")
    if is_sensitive(held.key, wanted):
        raise InvalidRequest("value: passwords, cards and identity numbers are never remembered")
    if wanted == held.value:
        return held.id
    edited = uuid7(now)
    store.replace_value(tx, held.id, wanted, edited_by=principal.name, new_id=edited, decision_id=uuid7(now), now=now)
    if principal.kind != "user":
        audit.add_entry(principal, tx, "fact.edited", f"fact:{held.id}", {"became": str(edited)}, now)
    return edited


def fact_with_history(principal: Principal, tx: Transaction, fact_id: UUID, binding_id: UUID | None) -> list[UUID]:
    """Return the ids of the fact and of its key's earlier values, if the principal may erase them.

    Users may erase their own facts, administrators any. Raises as `edit` does.
    """
    if principal.kind != "user":
        roles.require_role(principal, "admin")
    held = lock_editable_fact(principal, tx, fact_id, binding_id)
    return [held.id, *store.find_previous_value_ids(tx, held.id)]


def lock_editable_fact(
    principal: Principal, tx: Transaction, fact_id: UUID, binding_id: UUID | None
) -> EditableFactRow:
    """Lock and return the live fact, if the principal may change it; raises as `edit` does."""
    is_user = principal.kind == "user"
    if not is_user:
        roles.require_role(principal, "editor")
    if is_user and (principal.id is None or binding_id is None):
        raise NotFound("fact not found")
    whose = {"user_id": principal.id, "binding_id": binding_id} if is_user else {"user_id": None, "binding_id": None}
    held = store.lock_fact(tx, fact_id, clearance=principal.clearance, **whose)
    if held is None:
        raise NotFound("fact not found; it may have changed meanwhile")
    return held
