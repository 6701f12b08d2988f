"""The deletion of what left the pack, without a pack at hand."""

from dataclasses import replace
from datetime import datetime

from parlour.infra import log
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.packs import apply, item_writing, store
from parlour.packs.merge import Decisions, Merge, TenantState, merge
from parlour.packs.tenant_state import read_tenant
from parlour.principal import Principal
from parlour.search.index.embedders import Embedder, embed_texts, space_name
from parlour.tenancy import audit
from parlour.tenancy.roles import require_role


def prune_pack(
    principal: Principal, database: Database, embedder: Embedder, now: datetime, *, dry_run: bool = False
) -> Merge:
    """Delete what left the pack; what people changed since, and what is in use, stays. Needs the role admin.

    It is stored as an apply, so an undo brings the items back.
    """
    require_role(principal, "admin")
    vectors = embed_texts(embedder, [])  # a deletion embeds nothing
    with database.transaction(principal) as tx:
        if not dry_run:
            store.lock_tenant(tx)
        stored = read_tenant(principal, tx, {})
        found = plan_prune(stored.state)
        if dry_run or not found.changes:
            return found
        writing = item_writing.prepare(tx, found.targets, stored, space_name(embedder))
        item_writing.write(principal, tx, writing, vectors, stored, now)
        apply.save_merge(principal, tx, {}, found, replace(stored, state=_keep_left(stored.state)), now)
        details: JsonObject = {"deleted": len(found.changes), "not_deleted": len(found.not_deleted)}
        audit.add_entry(principal, tx, "pack.pruned", f"tenant:{principal.tenant_id}", details, now)
    log.info("pack_pruned", tenant_id=principal.tenant_id, deleted=len(found.changes))
    return found


def plan_prune(state: TenantState) -> Merge:
    """Return what deletes the items that left the pack. Pure."""
    return merge({}, _keep_left(state), Decisions(), prune=True)


def _keep_left(state: TenantState) -> TenantState:
    """Return the state of nothing but the items that left the pack."""
    left = {item: applied for item, applied in state.applied.items() if item in state.left_pack}
    current = {item: fields for item, fields in state.current.items() if item in left}
    return replace(state, current=current, applied=left, pack_made=frozenset())
