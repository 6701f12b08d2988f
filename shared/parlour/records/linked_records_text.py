"""What a record is linked to, as text for a prompt: short for the briefing. Pure.

An arrow says which way an edge runs, seen from the record that the conversation is about.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from parlour.infra.json_values import Json, JsonObject
from parlour.records.relations import relation_phrase

type Direction = Literal["outgoing", "incoming"]

MAX_PER_TYPE = 3
"""Records of one kind that a briefing names; the others are counted."""

TYPE_ORDER = (
    "project",
    "goal",
    "plan",
    "milestone",
    "task",
    "document",
    "output",
    "risk",
    "requirement",
    "finding",
    "contract",
    "conversation",
)
"""The order in which kinds are told; a pack's own kinds follow by name."""

ACTIVE_STATES = ("active", "in_progress", "in_review", "ongoing", "doing", "started", "open", "in_force", "blocked")
"""States that are told before all others: something is going on. Written in lower case with `_` for a space or `-`."""

SCRATCH_NAMES = ("scratch", "scratchpad", "workspace")
"""States and kinds of document that are nobody's business but their writer's."""

DUE_PROPERTIES = (
    "due",
    "due_date",
    "due_at",
    "due_on",
    "deadline",
    "target_date",
    "forecast",
    "end_date",
    "expires",
    "planned",
)
"""Properties that say when something is due; the first that a record has is told."""

_ARROWS: Mapping[Direction, str] = {"outgoing": "→", "incoming": "←"}
_LONGEST_NAME = 80
_VARIANT_LIMITS = ((3, 99), (2, 99), (1, 99), (1, 6), (1, 3), (0, 99))
"""How the list gets shorter: records per kind, and kinds that are told with records; the others with their count."""

LEGEND = "→: from this record to that one; ←: from that one to this."
HINT = "get_linked_entities tells all of them, with their descriptions."


@dataclass(frozen=True, slots=True)
class DirectedRelation:
    """An edge between the focused record and another, seen from the focused one."""

    name: str
    direction: Direction

    @property
    def reads(self) -> str:
        """Return how it reads from the focused record: `needs first`."""
        return relation_phrase(self.name, outgoing=self.direction == "outgoing")

    def to_json(self) -> JsonObject:
        """Return it as tools get it."""
        return {"relation": self.name, "direction": self.direction, "reads": self.reads}


@dataclass(frozen=True, slots=True)
class LinkedRecord:
    """A record at the other end of one edge or more.

    handle       `type/key`, which every tool takes.
    state        as its type's status properties say it; type_key: what sort of its kind it is; due: when. "" without.
    is_context   the document in the user's own words that its project was made with.
    """

    handle: str
    type: str
    type_name: str
    name: str
    relations: tuple[DirectedRelation, ...]
    state: str = ""
    subtype: str = ""
    due: str = ""
    description: str = ""
    is_context: bool = False

    def to_json(self) -> JsonObject:
        """Return it as tools get it; empty fields are left out."""
        relations: list[Json] = [one.to_json() for one in self.relations]
        told: JsonObject = {
            "handle": self.handle,
            "name": self.name,
            "kind": self.type,
            "state": self.state,
            "type_key": self.subtype,
            "due": self.due,
            "relations": relations,
            "description": self.description,
            "is_context": self.is_context,
        }
        return {name: value for name, value in told.items() if value not in ("", False)}


@dataclass(frozen=True, slots=True)
class LinkedType:
    """How many records of one kind are linked, by the reader's clearance."""

    key: str
    name: str
    total: int


@dataclass(frozen=True, slots=True)
class LinkedRecords:
    """A record and the records that are linked to it.

    types    every type with its total.
    records  the records that were asked for, in the order of their types; active ones first, then the newest.
    """

    handle: str
    name: str
    types: tuple[LinkedType, ...]
    records: tuple[LinkedRecord, ...]

    @property
    def total(self) -> int:
        return sum(kind.total for kind in self.types)


def render_variants(linked: LinkedRecords, *, has_tool: bool) -> tuple[str, ...]:
    """Return the list for a prompt, from the fullest to a mere count; the first that fits is used. Nothing without
    links.

    `has_tool`: whether the reader has the tool that shows more.
    """
    if not linked.types:
        return ()
    end = f"\n{HINT}" if has_tool else ""
    texts = [f"{LEGEND}\n{_render(linked, each, kinds)}{end}" for each, kinds in _VARIANT_LIMITS[:-1]]
    texts.append("Linked: " + ", ".join(_render_count(kind) for kind in linked.types) + "." + end)
    return tuple(dict.fromkeys(texts))


def _render(linked: LinkedRecords, each: int, most_kinds: int) -> str:
    groups = {kind: list(records) for kind, records in groupby(linked.records, key=lambda one: one.type)}
    lines: list[str] = []
    for kind in linked.types[:most_kinds]:
        shown = groups.get(kind.key, [])[:each]
        left = kind.total - len(shown)
        lines.append(f"## {_one_line(kind.name)} ({kind.total}{f', first {len(shown)}' if left else ''})")
        lines += map(_render_record, shown)
        if left:
            lines.append(f"- ... and {left} more")
    if rest := [_render_count(kind) for kind in linked.types[most_kinds:]]:
        lines.append(f"Also: {', '.join(rest)}.")
    return "\n".join(lines)


def _render_record(record: LinkedRecord) -> str:
    """`- Name [task/T-1] (open; due 2026-03-06): → depends_on`."""
    due = f"due {_one_line(record.due)}" if record.due else ""
    about = "; ".join(filter(None, (_one_line(record.state), _one_line(record.subtype), due)))
    mark = " (context document: the project in its owner's words)" if record.is_context else ""
    relations = ", ".join(f"{_ARROWS[one.direction]} {one.name}" for one in record.relations)
    flat = _one_line(record.name)
    shortened = flat if len(flat) <= _LONGEST_NAME else flat[: _LONGEST_NAME - 1].rstrip() + "…"
    return f"- {shortened} [{record.handle}]{f' ({about})' if about else ''}{mark}: {relations}"


def _render_count(kind: LinkedType) -> str:
    return f"{_one_line(kind.name)} {kind.total}"


def _one_line(text: str) -> str:
    """One line: what somebody called a record cannot begin a heading or a list of its own."""
    return " ".join(text.split())
