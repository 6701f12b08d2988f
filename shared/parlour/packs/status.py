"""What packs brought to a tenant: the applies that can be undone, what people changed since, and what left the pack."""

from collections.abc import Iterator
from dataclasses import dataclass

from parlour.infra.postgres import Database
from parlour.packs import prune, store
from parlour.packs.drafts import DAILY_CAP_FIELD
from parlour.packs.items import ItemId, digest_fields
from parlour.packs.merge import TenantState
from parlour.packs.store import StoredApply
from parlour.packs.tenant_state import read_tenant
from parlour.principal import Principal
from parlour.tenancy.roles import require_role


@dataclass(frozen=True, slots=True)
class LocalEdit:
    """What people changed in an item of a pack. Without fields they deleted it."""

    item: ItemId
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PackStatus:
    """The state of a tenant's pack, without items above the caller's clearance.

    applies     those that changed something and were not undone, newest first.
    item_count  items of the last applied pack.
    left_pack   items that left the pack and stay, each with the reason why a prune keeps it, or none.
    """

    applies: list[StoredApply]
    item_count: int
    edits: list[LocalEdit]
    left_pack: list[tuple[ItemId, str]]


def read_status(principal: Principal, database: Database) -> PackStatus:
    """Return the state of the tenant's pack. Needs the role admin."""
    require_role(principal, "admin")
    with database.transaction(principal) as tx:
        applies = store.list_applies(tx)
        # The daily cap is read only for a pack that says one.
        state = read_tenant(principal, tx, {ItemId("tenant", "tenant"): {DAILY_CAP_FIELD: None}}).state
    left = prune.plan_prune(state)
    reasons = {item: "" for item, target in left.targets.items() if target is None} | left.not_deleted
    return PackStatus(
        applies=applies,
        item_count=len(state.applied.keys() - state.left_pack),
        edits=list(find_edits(state)),
        left_pack=sorted(reasons.items()),
    )


def find_edits(state: TenantState) -> Iterator[LocalEdit]:
    """Yield what people changed in the items of the last applied pack."""
    for item, applied in sorted(state.applied.items()):
        if item in state.left_pack or item in state.hidden:
            continue
        if item not in state.current:
            yield LocalEdit(item, ())
            continue
        now = digest_fields(state.current[item])
        names = [name for name in dict.fromkeys([*applied, *now]) if now.get(name) != applied.get(name)]
        fields = tuple(name for name in names if name in applied or name != DAILY_CAP_FIELD)
        if fields:
            yield LocalEdit(item, fields)
