"""The rows of a tenant's configuration, and what packs applied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.packs.items import ConfigKind, Digests, ItemId, ItemKind
from parlour.packs.plan import ConfigItem

SQL = Queries.for_module(__file__)

MAX_STORED_APPLIES = 10
"""Applies that can be undone, one after another."""

_JSONB_FIELDS = frozenset({"guardrails", "sops", "needs_approval"})
"""Fields in a jsonb column that may be a list or a text; other lists are arrays."""


@dataclass(frozen=True, slots=True)
class AppliedItem:
    """Digests of what the last apply wanted for an item."""

    kind: ItemKind
    name: str
    applied: Digests
    is_in_pack: bool

    @property
    def item(self) -> ItemId:
        return ItemId(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class AppliedPack:
    """An apply that can be undone."""

    id: UUID
    applied_by: str
    applied_at: datetime


@dataclass(frozen=True, slots=True)
class StoredApply:
    """An apply that can be undone, with the number of items that it changed."""

    applied_by: str
    applied_at: datetime
    changed_items: int


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """What an apply changed in an item; the columns of `pack_changes`."""

    kind: ItemKind
    name: str
    record_id: UUID | None
    before: JsonObject | None
    after: Digests | None
    applied_before: Digests | None

    @property
    def item(self) -> ItemId:
        return ItemId(self.kind, self.name)


def lock_tenant(tx: Transaction) -> None:
    """Wait for another apply of this tenant to end, and keep others waiting."""
    tx.value(SQL["lock_tenant"])


def read_configuration(tx: Transaction) -> dict[tuple[ConfigKind, str], ConfigItem]:
    """All of a tenant's configuration by kind and name."""
    return {(row.kind, row.name): row for row in tx.all(SQL["read_configuration"], ConfigItem)}


def upsert_items(
    tx: Transaction,
    kind: ConfigKind,
    parts: Sequence[ConfigItem],
    ids: Mapping[tuple[ConfigKind, str], UUID],
    now: datetime,
) -> None:
    """Write parts of one kind. `ids` says which row a human, team or agent is, by its name."""
    columns = _binding_columns if kind == "binding" else _item_columns
    rows = [
        {"id": part.id, "name": part.name, "version": part.version, "now": now, **columns(part, ids)} for part in parts
    ]
    tx.run_many(SQL[f"upsert_{kind}"], rows)


def _item_columns(part: ConfigItem, ids: Mapping[tuple[ConfigKind, str], UUID]) -> dict[str, object]:  # noqa: ARG001
    return {name: jsonb(value) if name in _JSONB_FIELDS else value for name, value in part.config.items()}


def _binding_columns(part: ConfigItem, ids: Mapping[tuple[ConfigKind, str], UUID]) -> dict[str, object]:
    tiers: tuple[ConfigKind, ...] = ("human", "team", "agent")
    own = {name: value for name, value in _item_columns(part, ids).items() if name not in tiers}
    return {**own, **{f"{tier}_id": ids[tier, str(part.config[tier])] for tier in tiers}}


def delete_tool(tx: Transaction, name: str) -> None:
    tx.run(SQL["delete_tool"], name=name)


def delete_unused_type(tx: Transaction, key: str) -> None:
    tx.run(SQL["delete_unused_type"], key=key)


def list_applied_items(tx: Transaction) -> list[AppliedItem]:
    return tx.all(SQL["list_applied_items"], AppliedItem)


def mark_items_left(tx: Transaction, items: Sequence[ItemId]) -> None:
    """Note that the applied pack does not have these items."""
    if items:
        tx.run(SQL["mark_items_left"], kinds=[item.kind for item in items], names=[item.name for item in items])


def save_applied_items(tx: Transaction, items: Mapping[ItemId, Digests | None]) -> None:
    """Store the digests of items; None deletes an item's."""
    rows = [
        {"kind": item.kind, "name": item.name, "applied": applied}
        for item, applied in items.items()
        if applied is not None
    ]
    tx.run_many(SQL["save_applied_item"], rows)
    removed = [item for item, applied in items.items() if applied is None]
    if removed:
        kinds, names = [item.kind for item in removed], [item.name for item in removed]
        tx.run(SQL["delete_applied_items"], kinds=kinds, names=names)


def add_apply(tx: Transaction, apply_id: UUID, by: str, now: datetime, changes: Sequence[AppliedChange]) -> None:
    """Store an apply with what it changed, and forget the oldest ones."""
    tx.run(SQL["add_apply"], id=apply_id, by=by, now=now)
    rows = [
        {
            "id": uuid7(now),
            "apply_id": apply_id,
            "kind": one.kind,
            "name": one.name,
            "record_id": one.record_id,
            "before": one.before,
            "after": one.after,
            "applied_before": one.applied_before,
        }
        for one in changes
    ]
    tx.run_many(SQL["add_change"], rows)
    tx.run(SQL["delete_old_applies"], most=MAX_STORED_APPLIES)


def find_last_apply(tx: Transaction) -> AppliedPack | None:
    return tx.first(SQL["find_last_apply"], AppliedPack)


def list_applies(tx: Transaction) -> list[StoredApply]:
    """Return the applies that can be undone, newest first."""
    return tx.all(SQL["list_applies"], StoredApply)


def list_changes(tx: Transaction, apply_id: UUID) -> list[AppliedChange]:
    return tx.all(SQL["list_changes"], AppliedChange, apply_id=apply_id)


def delete_apply(tx: Transaction, apply_id: UUID) -> None:
    tx.run(SQL["delete_apply"], id=apply_id)
