"""What an apply would write: the configuration of a pack against the one that is stored. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject, canonical
from parlour.knowledge.records.changes import Changes
from parlour.packs.format import Pack
from parlour.packs.forms import stored
from parlour.packs.part import Part

type Kind = Literal["human", "team", "agent", "tool", "entity_type", "binding", "secret"]

ORDER: tuple[Kind, ...] = ("secret", "human", "team", "agent", "tool", "entity_type", "binding")
"""What is referred to comes before what refers to it."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A part of the configuration: its row, and what it says in the form of a pack. Secrets are always version 1."""

    kind: Kind
    id: UUID
    name: str
    version: int
    config: JsonObject


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be written of one kind, and how much of it there was.

    writes   new, changed and retired parts with their next versions
    changes  counts of what the pack has
    kept     how many are stored, are not in the pack, and stay as they are
    retired  how many bindings are not in the pack and are switched off
    """

    kind: Kind
    writes: tuple[Stored, ...]
    changes: Changes
    kept: int = 0
    retired: int = 0


def plan(pack: Pack, known: Mapping[tuple[Kind, str], Stored], now: datetime, new_id: NewId) -> list[Plan]:
    """What differs, kind by kind, in the order of writing."""
    return [_plan(kind, wanted(pack, kind), known, now, new_id) for kind in ORDER]


def wanted(pack: Pack, kind: Kind) -> dict[str, JsonObject]:
    """The pack's parts of one kind by name, each in the form in which `store` reads it back."""
    if kind == "secret":
        return {name: {"reference": reference} for name, reference in pack.tenant.secrets.items()}
    by_kind: Mapping[str, Mapping[str, Part]] = {
        "human": pack.humans,
        "team": pack.teams,
        "agent": pack.agents,
        "tool": pack.tools,
        "entity_type": pack.entity_types,
        "binding": pack.bindings,
    }
    return {name: _config(kind, part) for name, part in by_kind[kind].items()}


def _config(kind: Kind, part: Part) -> JsonObject:
    config = stored(part)
    if kind == "binding":
        return {**config, "is_active": True}
    return config


def _plan(
    kind: Kind, parts: Mapping[str, JsonObject], known: Mapping[tuple[Kind, str], Stored], now: datetime, new_id: NewId
) -> Plan:
    created = [
        Stored(kind, new_id(now), name, 1, config) for name, config in parts.items() if (kind, name) not in known
    ]
    changed = [
        Stored(kind, before.id, name, before.version + 1, config)
        for name, config in parts.items()
        if (before := known.get((kind, name))) and canonical(before.config) != canonical(config)
    ]
    absent = [part for part in known.values() if part.kind == kind and part.name not in parts]
    retired = list(_retired(absent))
    return Plan(
        kind,
        (*created, *changed, *retired),
        Changes(len(created), len(changed), len(parts) - len(created) - len(changed)),
        kept=len(absent) - len(retired),
        retired=len(retired),
    )


def _retired(absent: list[Stored]) -> Iterator[Stored]:
    """Bindings that answer today and are not in the pack: switched off, under a version of their own."""
    for part in absent:
        if part.config.get("is_active"):
            yield Stored(part.kind, part.id, part.name, part.version + 1, {**part.config, "is_active": False})


def ids(known: Mapping[tuple[Kind, str], Stored], plans: list[Plan]) -> dict[tuple[Kind, str], UUID]:
    """Which row each part is, those about to be written included."""
    written = {(part.kind, part.name): part.id for one in plans for part in one.writes}
    return {**{key: part.id for key, part in known.items()}, **written}
