"""What an apply writes of the configuration: the merged parts against those that are stored. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.packs.file_order import keep_file_order
from parlour.packs.format import Pack
from parlour.packs.items import ConfigKind, ItemId, Items
from parlour.packs.pack_model import PackModel
from parlour.packs.serialization import to_row
from parlour.records.built_in_types import BUILT_IN_TYPES
from parlour.records.write_counts import WriteCounts

WRITE_ORDER: tuple[ConfigKind, ...] = ("secret", "human", "team", "agent", "tool", "entity_type", "binding")
"""What is referred to comes before what refers to it."""


@dataclass(frozen=True, slots=True)
class ConfigItem:
    """A part of the configuration: its row, and what it says in the form of a pack. Secrets are always version 1."""

    kind: ConfigKind
    id: UUID
    name: str
    version: int
    config: JsonObject


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    """What is to be written of one kind, and how much of it there is.

    items_to_write  new, changed and retired parts with their next versions.
    counts          changes of what the pack has.
    kept_count      how many are stored, are not in the pack, and stay as they are.
    retired_count   how many bindings are not in the pack and are switched off.
    """

    kind: ConfigKind
    items_to_write: tuple[ConfigItem, ...]
    counts: WriteCounts
    kept_count: int = 0
    retired_count: int = 0


def plan_configuration(
    parts: Items, known: Mapping[tuple[ConfigKind, str], ConfigItem], now: datetime
) -> list[ConfigPlan]:
    """Return what differs from the stored configuration, kind by kind, in the order of writing."""
    return [
        _plan_kind(kind, {item.name: config for item, config in parts.items() if item.kind == kind}, known, now)
        for kind in WRITE_ORDER
    ]


def configuration_items(pack: Pack) -> dict[ItemId, JsonObject]:
    """Return the pack's parts, each as `store` reads it back."""
    return {
        ItemId(kind, name): config for kind in WRITE_ORDER for name, config in _pack_configuration(pack, kind).items()
    }


def _pack_configuration(pack: Pack, kind: ConfigKind) -> dict[str, JsonObject]:
    if kind == "secret":
        return {name: {"reference": reference} for name, reference in pack.tenant.secrets.items()}
    by_kind: Mapping[str, Mapping[str, PackModel]] = {
        "human": pack.humans,
        "team": pack.teams,
        "agent": pack.agents,
        "tool": pack.tools,
        "entity_type": pack.entity_types,
        "binding": pack.bindings,
    }
    extra_fields: JsonObject = {"is_active": True} if kind == "binding" else {}
    rows = {name: {**to_row(part), **extra_fields} for name, part in by_kind[kind].items()}
    return {name: row if _is_built_in(kind, name, row) else keep_file_order(kind, row) for name, row in rows.items()}


def _is_built_in(kind: ConfigKind, name: str, row: JsonObject) -> bool:
    """Return whether the row is a record type as Parlour defines it, which is stored as it is."""
    return kind == "entity_type" and name in BUILT_IN_TYPES and row == BUILT_IN_TYPES[name].config


def _plan_kind(
    kind: ConfigKind,
    parts: Mapping[str, JsonObject],
    known: Mapping[tuple[ConfigKind, str], ConfigItem],
    now: datetime,
) -> ConfigPlan:
    created = [
        ConfigItem(kind, uuid7(now), name, 1, config) for name, config in parts.items() if (kind, name) not in known
    ]
    changed = [
        ConfigItem(kind, before.id, name, before.version + 1, config)
        for name, config in parts.items()
        if (before := known.get((kind, name))) and canonical_json(before.config) != canonical_json(config)
    ]
    retired = [
        one for one in changed if known[kind, one.name].config.get("is_active") and one.config.get("is_active") is False
    ]
    unchanged = len(parts) - len(created) - len(changed)
    return ConfigPlan(
        kind,
        (*created, *changed),
        WriteCounts(len(created), len(changed) - len(retired), unchanged),
        kept_count=sum(1 for part in known.values() if part.kind == kind and part.name not in parts),
        retired_count=len(retired),
    )


def item_ids(
    known: Mapping[tuple[ConfigKind, str], ConfigItem], plans: list[ConfigPlan]
) -> dict[tuple[ConfigKind, str], UUID]:
    """Which row each part is, those about to be written included."""
    written = {(part.kind, part.name): part.id for one in plans for part in one.items_to_write}
    return {**{key: part.id for key, part in known.items()}, **written}
