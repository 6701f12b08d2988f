"""An apply taken back: each value that is still as the apply wrote it gets its earlier value."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from parlour.infra import log
from parlour.infra.errors import NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.packs import item_writing, store
from parlour.packs.items import ItemId, digest_fields, level_of
from parlour.packs.merge import ItemChange, TenantState
from parlour.packs.store import AppliedChange, AppliedPack
from parlour.packs.tenant_state import StoredTenant, read_tenant
from parlour.principal import Principal
from parlour.search.index.embedders import Embedder, embed_texts, space_name
from parlour.tenancy import audit
from parlour.tenancy.roles import require_role

_CHANGED_SINCE = "it was changed since the apply"
_CONVERSATIONS = "conversations may refer to it"


@dataclass(frozen=True, slots=True)
class NotRestored:
    """A value that an undo leaves as it is, with the reason; field None is the whole item."""

    item: ItemId
    field: str | None
    reason: str


@dataclass(slots=True)
class Undo:
    """What an undo writes.

    targets       items as they are to be; None: delete.
    restored      each change that is taken back.
    not_restored  what stays.
    hidden        items above the caller's clearance, which are restored and not shown.
    """

    targets: dict[ItemId, JsonObject | None] = field(default_factory=dict)
    restored: list[ItemChange] = field(default_factory=list)
    not_restored: list[NotRestored] = field(default_factory=list)
    hidden: set[ItemId] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class UndoResult:
    """The apply that was undone, and how."""

    applied: AppliedPack
    undo: Undo


def undo_apply(
    principal: Principal, database: Database, embedder: Embedder, now: datetime, *, dry_run: bool = False
) -> UndoResult:
    """Undo the tenant's last apply that was not undone. Needs the role admin.

    What was changed since the apply stays, and is listed. What people attached to a record before a prune deleted it
    does not come back. NotFound when there is nothing to undo.
    """
    require_role(principal, "admin")
    with database.transaction(principal) as tx:
        applied, changes, stored, found = _plan(principal, tx)
        if dry_run:
            return UndoResult(applied, found)
        writing = item_writing.prepare(tx, found.targets, stored, space_name(embedder))
    vectors = embed_texts(embedder, writing.texts_to_embed)
    with database.transaction(principal) as tx:
        store.lock_tenant(tx)
        applied, changes, stored, again = _plan(principal, tx)
        if again != found:
            found, writing = again, item_writing.prepare(tx, again.targets, stored, space_name(embedder))
        item_writing.write(principal, tx, writing, vectors, stored, now)
        store.save_applied_items(tx, {change.item: change.applied_before for change in changes})
        deleted = [change.item for change in changes if change.after is None]
        if len(deleted) == len(changes):  # a prune: no pack has these items
            store.mark_items_left(tx, deleted)
        store.delete_apply(tx, applied.id)
        details: JsonObject = {"restored": len(found.restored), "not_restored": len(found.not_restored)}
        audit.add_entry(principal, tx, "pack.undone", f"tenant:{principal.tenant_id}", details, now)
    log.info("pack_undone", tenant_id=principal.tenant_id, restored=len(found.restored))
    return UndoResult(applied, found)


def _plan(principal: Principal, tx: Transaction) -> tuple[AppliedPack, Sequence[AppliedChange], StoredTenant, Undo]:
    applied = store.find_last_apply(tx)
    if applied is None:
        raise NotFound("there is no apply to undo; only the last ten applies that changed something can be undone")
    changes = store.list_changes(tx, applied.id)
    stored = read_tenant(principal, tx, {}, [change.item for change in changes])
    found = plan_undo(changes, stored.state)
    high = {item for item, fields in found.targets.items() if fields and level_of(fields) > principal.clearance}
    found.hidden = {item for item in high if item.kind != "binding"} | {*stored.state.hidden}
    return applied, changes, stored, found


def plan_undo(changes: Sequence[AppliedChange], state: TenantState) -> Undo:
    """Return what takes the changes back, as far as nobody changed the same values since. Pure."""
    found = Undo()
    for change in changes:
        if change.item.kind == "tenant" and change.before is None:
            continue
        current = state.current.get(change.item)
        if change.before is None:
            _remove(found, change, current, state)
        elif change.after is None and current is None:  # the apply deleted it
            found.targets[change.item] = change.before
            found.restored.append(ItemChange(change.item, "created"))
        elif change.after is None:
            found.not_restored.append(NotRestored(change.item, None, "it was created again since the apply"))
        elif current is not None:
            _restore_fields(found, change, change.before, change.after, current)
        elif change.after:
            found.not_restored.append(NotRestored(change.item, None, "it was deleted since the apply"))
    return found


def _remove(found: Undo, change: AppliedChange, current: JsonObject | None, state: TenantState) -> None:
    """Delete an item that the apply created."""
    item = change.item
    if current is None:
        return
    if reason := _reason_to_stay(change, current, state):
        found.not_restored.append(NotRestored(item, None, reason))
    elif item.kind == "binding":
        found.targets[item] = {**current, "is_active": False}
        found.restored.append(ItemChange(item, "switched_off", ("is_active",)))
    else:
        found.targets[item] = None
        found.restored.append(ItemChange(item, "deleted"))


def _reason_to_stay(change: AppliedChange, current: JsonObject, state: TenantState) -> str:
    item = change.item
    if item in state.hidden:
        return "it is above your clearance"
    if digest_fields(current) != change.after or item in state.extended:
        return _CHANGED_SINCE
    return _CONVERSATIONS if item.kind in {"human", "team", "agent", "secret"} else ""


def _restore_fields(
    found: Undo, change: AppliedChange, before: JsonObject, after: dict[str, str], current: JsonObject
) -> None:
    now, target, restored = digest_fields(current), {**current}, []
    for name, written in after.items():
        if now.get(name, "") != written:
            found.not_restored.append(NotRestored(change.item, name, _CHANGED_SINCE))
            continue
        restored.append(name)
        if name in before:
            target[name] = before[name]
        else:
            target.pop(name, None)
    if restored:
        found.targets[change.item] = target
        found.restored.append(ItemChange(change.item, "changed", tuple(restored)))
