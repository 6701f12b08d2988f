"""The three-way merge of a pack, the values that the last apply wrote, and the values as they are now. Pure.

A field that only the pack changed is taken. A field that only people changed stays. A field that both changed is a
conflict: it stays, unless the caller decides otherwise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from parlour.infra.json_values import Json, JsonObject
from parlour.packs.items import Digests, ItemId, ItemKind, Items, digest_fields

type Choice = Literal["keep", "take"]
type ChangeAction = Literal["created", "changed", "deleted", "switched_off"]

_DELETABLE_KINDS: frozenset[ItemKind] = frozenset({"entity", "edge", "document", "tool", "entity_type"})
"""What a prune deletes. Conversations refer to bindings and their tiers, so those stay."""

_REFERENCE_FIELDS: tuple[tuple[ItemKind, str], ...] = (("entity", "project"), ("document", "entity"))


@dataclass(frozen=True, slots=True)
class Decisions:
    """What wins where people changed what the pack says.

    conflicts  of fields that both changed.
    choices    by handle, and by field; None is the whole item. `take` also replaces what only people changed.
    """

    conflicts: Choice = "keep"
    choices: Mapping[tuple[str, str | None], Choice] = field(default_factory=dict)

    def find_choice(self, item: ItemId, name: str | None) -> Choice | None:
        """Return what was decided for this field; a link follows the record that it leaves."""
        handles = [item.handle, *([item.name.partition(" ")[0]] if item.kind == "edge" else [])]
        found = (self.choices.get((handle, one)) for handle in handles for one in (name, None))
        return next((one for one in found if one), None)


@dataclass(frozen=True, slots=True)
class TenantState:
    """The tenant as it is.

    current    all items that the pack names or that came with a pack.
    applied    digests of what the last apply wanted, by item.
    left_pack  those of them that the last applied pack did not have.
    pack_made  items without `applied` that a pack made, before such digests were stored.
    untouched  those among them that people cannot have changed.
    extended   records to which people attached something.
    hidden     items above the caller's clearance.
    in_use     items that a prune cannot delete, with the reason.
    """

    current: Items
    applied: Mapping[ItemId, Digests]
    left_pack: frozenset[ItemId] = frozenset()
    pack_made: frozenset[ItemId] = frozenset()
    untouched: frozenset[ItemId] = frozenset()
    extended: frozenset[ItemId] = frozenset()
    hidden: frozenset[ItemId] = frozenset()
    in_use: Mapping[ItemId, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """A value of the pack and the one that people gave it; None where there is none.

    field        None is the whole item: people deleted it.
    is_taken     the pack's value was taken.
    is_withheld  the current value is above the caller's clearance and left out.
    """

    item: ItemId
    field: str | None
    pack_value: Json
    current_value: Json
    is_withheld: bool = False
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class ItemChange:
    """What an apply does to an item."""

    item: ItemId
    action: ChangeAction
    fields: tuple[str, ...] = ()


@dataclass(slots=True)
class Merge:
    """What an apply is to write.

    targets      each item of the pack as it is to be, and each item to delete as None.
    applied      the new digests of each item; None: no pack has it any more.
    local_edits  what only people changed and what stays.
    conflicts    what both changed.
    not_in_pack  items of an earlier pack that this one does not have, and that stay.
    not_deleted  those among them that a prune refuses, with the reason.
    """

    targets: dict[ItemId, JsonObject | None] = field(default_factory=dict)
    applied: dict[ItemId, Digests | None] = field(default_factory=dict)
    changes: list[ItemChange] = field(default_factory=list)
    local_edits: list[Difference] = field(default_factory=list)
    conflicts: list[Difference] = field(default_factory=list)
    not_in_pack: list[ItemId] = field(default_factory=list)
    not_deleted: dict[ItemId, str] = field(default_factory=dict)

    @property
    def writes(self) -> dict[ItemId, JsonObject]:
        """The items to have, without those to delete."""
        return {item: fields for item, fields in self.targets.items() if fields is not None}


def merge(wanted: Items, state: TenantState, decisions: Decisions, *, prune: bool = False) -> Merge:
    """Return what makes the tenant what the pack wants, without the values that people gave it."""
    found = Merge()
    for item, fields in wanted.items():
        _merge_item(found, item, fields, state, decisions)
    left = (state.applied.keys() | state.pack_made | {one for one in state.current if one.kind == "binding"}) - (
        wanted.keys()
    )
    for item in sorted(left):
        _leave_item(found, item, state, decisions, prune=prune)
    _drop_dangling(found, wanted)
    found.changes = list(_list_changes(found, state.current))
    return found


def is_edited(item: ItemId, state: TenantState) -> bool:
    """Whether people changed the item since a pack wrote it."""
    if item in state.extended:
        return True
    return item not in state.untouched and digest_fields(state.current[item]) != state.applied.get(item)


def _merge_item(found: Merge, item: ItemId, wanted: JsonObject, state: TenantState, decisions: Decisions) -> None:
    current, new = state.current.get(item), digest_fields(wanted)
    found.applied[item] = new
    before = state.applied.get(item)
    if before is None and current is not None and item in state.untouched:
        before = digest_fields(current)
    if current is None:
        is_new = before is None or item in state.left_pack
        if is_new or _takes_deleted(found, item, decisions, has_changed=before != new):
            found.targets[item] = wanted
        return
    now, before, merged = digest_fields(current), before or {}, {**current}
    for name in dict.fromkeys([*wanted, *current]):
        if new.get(name) == now.get(name):
            continue
        is_hidden = item in state.hidden
        difference = Difference(item, name, wanted.get(name), None if is_hidden else current.get(name), is_hidden)
        if _takes_field(found, difference, before.get(name), new.get(name), now.get(name), decisions):
            if name in wanted:
                merged[name] = wanted[name]
            else:
                del merged[name]
    found.targets[item] = merged


def _takes_field(
    found: Merge, difference: Difference, before: str | None, new: str | None, now: str | None, decisions: Decisions
) -> bool:
    """Whether the pack's value is taken."""
    if before == now:
        return True
    choice = decisions.find_choice(difference.item, difference.field)
    if before == new:
        if choice != "take":
            found.local_edits.append(difference)
        return choice == "take"
    is_taken = (choice or decisions.conflicts) == "take"
    found.conflicts.append(replace(difference, is_taken=is_taken))
    return is_taken


def _takes_deleted(found: Merge, item: ItemId, decisions: Decisions, *, has_changed: bool) -> bool:
    """Whether an item that people deleted is created again."""
    difference = Difference(item, None, None, None)
    return _takes_field(found, difference, "pack", "changed" if has_changed else "pack", "deleted", decisions)


def _leave_item(found: Merge, item: ItemId, state: TenantState, decisions: Decisions, *, prune: bool) -> None:
    """Decide about an item that is not in the pack."""
    current = state.current.get(item)
    if current is None:
        found.applied[item] = None
    elif item.kind == "binding":
        if current.get("is_active"):
            target: JsonObject = {**current, "is_active": False}
            found.targets[item], found.applied[item] = target, digest_fields(target)
    elif item.kind in _DELETABLE_KINDS and item not in state.hidden:
        _prune_item(found, item, state, decisions, prune=prune)


def _prune_item(found: Merge, item: ItemId, state: TenantState, decisions: Decisions, *, prune: bool) -> None:
    takes = (decisions.find_choice(item, None) or decisions.conflicts) == "take"
    reason = state.in_use.get(item, "")
    if not reason and not takes and is_edited(item, state):
        reason = "people changed it; --take deletes it all the same"
    if prune and not reason:
        found.targets[item], found.applied[item] = None, None
        return
    found.not_in_pack.append(item)
    if prune:
        found.not_deleted[item] = reason


def _drop_dangling(found: Merge, wanted: Items) -> None:
    """Drop what refers to records of the pack that people deleted and that stay deleted."""
    missing = {item.name for item in wanted if item.kind == "entity" and found.targets.get(item) is None}
    for item in [one for one in found.writes if one.kind == "edge"]:
        source, _, target = item.name.split(" ")
        if missing & {source, target}:
            del found.targets[item]
    for item, fields in found.writes.items():
        for kind, name in _REFERENCE_FIELDS:
            if item.kind == kind and fields[name] in missing:
                found.targets[item] = {**fields, name: None}


def _list_changes(found: Merge, current: Items) -> Iterator[ItemChange]:
    for item, target in found.targets.items():
        before = current.get(item)
        if target is None:
            yield ItemChange(item, "deleted")
        elif before is None:
            yield ItemChange(item, "created")
        else:
            now, new = digest_fields(before), digest_fields(target)
            names = tuple(name for name in dict.fromkeys([*before, *target]) if now.get(name) != new.get(name))
            if names == ("is_active",) and not target["is_active"]:
                yield ItemChange(item, "switched_off", names)
            elif names:
                yield ItemChange(item, "changed", names)
