"""The audit trail: who did which administrative act to what, and when. Written and read, never rewritten."""

from datetime import datetime

from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.records import Entry
from parlour.tenancy.roles import require

__all__ = ["Entry", "recent", "record"]

_MOST = 200


def record(
    principal: Principal,
    tx: Transaction,
    action: str,
    target: str,
    details: JsonObject,
    now: datetime,
    new_id: NewId,
) -> None:
    """Add an act, in the transaction that does it.

    action   `<noun>.<past participle>`, such as `key.revoked`.
    target   `<kind>:<id>`.
    details  ids, numbers, roles and states; nothing personal and no secret.
    """
    actor = principal.name
    store.record_act(tx, id=new_id(now), actor=actor, action=action, target=target, details=details, now=now)


def recent(principal: Principal, tx: Transaction, most: int, before: Entry | None = None) -> list[Entry]:
    """The latest acts, at most 200, from before an entry that was read earlier. Needs the role viewer."""
    require(principal, "viewer")
    return store.acts(tx, min(max(most, 1), _MOST), before)
