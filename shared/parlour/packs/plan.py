"""What an apply would write: the configuration of a pack against the one that is stored. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.packs.format import Pack
from parlour.packs.pack_model import PackModel
from parlour.packs.serialization import to_row
from parlour.records.write_counts import WriteCounts

type ConfigKind = Literal["human", "team", "agent", "tool", "entity_type", "binding", "secret"]

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
    pack: Pack, known: Mapping[tuple[ConfigKind, str], ConfigItem], now: datetime
) -> list[ConfigPlan]:
    """Return what differs, kind by kind, in the order of writing."""
    return [_plan_kind(kind, pack_configuration(pack, kind), known, now) for kind in WRITE_ORDER]


def pack_configuration(pack: Pack, kind: ConfigKind) -> dict[str, JsonObject]:
    """Return the pack's parts of one kind by name, each as `store` reads it back."""
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
    return {name: _item_config(kind, part) for name, part in by_kind[kind].items()}


def _item_config(kind: ConfigKind, part: PackModel) -> JsonObject:
    config = to_row(part)
    if kind == "binding":
        return {**config, "is_active": True}
    return config


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
    absent = [part for part in known.values() if part.kind == kind and part.name not in parts]
    retired = list(_bindings_to_retire(absent))
    return ConfigPlan(
        kind,
        (*created, *changed, *retired),
        WriteCounts(len(created), len(changed), len(parts) - len(created) - len(changed)),
        kept_count=len(absent) - len(retired),
        retired_count=len(retired),
    )


def _bindings_to_retire(absent: list[ConfigItem]) -> Iterator[ConfigItem]:
    """Bindings that answer today and are not in the pack: switched off, under a version of their own."""
    for part in absent:
        if part.config.get("is_active"):
            yield ConfigItem(part.kind, part.id, part.name, part.version + 1, {**part.config, "is_active": False})


def item_ids(
    known: Mapping[tuple[ConfigKind, str], ConfigItem], plans: list[ConfigPlan]
) -> dict[tuple[ConfigKind, str], UUID]:
    """Which row each part is, those about to be written included."""
    written = {(part.kind, part.name): part.id for one in plans for part in one.items_to_write}
    return {**{key: part.id for key, part in known.items()}, **written}
