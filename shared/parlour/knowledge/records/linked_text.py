"""What a record is linked to, as text for a prompt: short for the briefing. Pure.

An arrow says which way an edge runs, seen from the record that the conversation is about.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from parlour.infra.jsonable import Json, JsonObject
from parlour.knowledge.records.relations import reads

type Direction = Literal["outgoing", "incoming"]

PER_KIND = 3
"""Records of one kind that a briefing names; the others are counted."""

KINDS = (
    "project", "goal", "plan", "milestone", "task", "document", "output", "risk", "requirement", "finding", "contract",
    "conversation",
)  # fmt: skip
"""The order in which kinds are told; a pack's own kinds follow by name."""

ACTIVE = ("active", "in_progress", "in_review", "ongoing", "doing", "started", "open", "in_force", "blocked")
"""States that are told before all others: something is going on. Written in lower case with `_` for a space or `-`."""

SCRATCH = ("scratch", "scratchpad", "workspace")
"""States and kinds of document that are nobody's business but their writer's."""

DUE = ("due", "due_date", "due_at", "due_on", "deadline", "target_date", "forecast", "end_date", "expires", "planned")
"""Properties that say when something is due; the first that a record has is told."""

_ARROWS: Mapping[str, str] = {"outgoing": "→", "incoming": "←"}
_LONGEST_NAME = 80
_STEPS = ((3, 99), (2, 99), (1, 99), (1, 6), (1, 3), (0, 99))
"""How the list gets shorter: records per kind, and kinds that are told with records; the others with their count."""

LEGEND = "→: from this record to that one; ←: from that one to this."
HINT = "get_linked_entities tells all of them, with their descriptions."


@dataclass(frozen=True, slots=True)
class Relation:
    """An edge between the focused record and another, seen from the focused one."""

    name: str
    direction: Direction

    def to_json(self) -> JsonObject:
        """With how it reads from the focused record: `needs first`."""
        said = reads(self.name, outgoing=self.direction == "outgoing")
        return {"relation": self.name, "direction": self.direction, "reads": said}


@dataclass(frozen=True, slots=True)
class LinkedRecord:
    """A record at the other end of one edge or more.

    handle       `type/key`, which every tool takes.
    state        as its type's status properties say it; type_key: what sort of its kind it is; due: when. "" without.
    is_context   the document in the user's own words that its project was made with.
    """

    handle: str
    kind: str
    kind_name: str
    name: str
    relations: tuple[Relation, ...]
    state: str = ""
    type_key: str = ""
    due: str = ""
    description: str = ""
    is_context: bool = False

    def to_json(self) -> JsonObject:
        """As tools and the API tell it; what it has not is left out."""
        relations: list[Json] = [one.to_json() for one in self.relations]
        told: JsonObject = {
            "handle": self.handle, "name": self.name, "kind": self.kind, "state": self.state,
            "type_key": self.type_key, "due": self.due, "relations": relations, "description": self.description,
            "is_context": self.is_context,
        }  # fmt: skip
        return {name: value for name, value in told.items() if value not in ("", False)}


@dataclass(frozen=True, slots=True)
class Kind:
    """How many records of one kind are linked, by the reader's clearance."""

    key: str
    name: str
    total: int


@dataclass(frozen=True, slots=True)
class Linked:
    """A record, and what is linked to it by one edge.

    kinds    every kind with its whole number, in the order of `KINDS`, then by key.
    records  those that were asked for, in the order of their kinds; active ones first, then the newest.
    """

    handle: str
    name: str
    kinds: tuple[Kind, ...]
    records: tuple[LinkedRecord, ...]

    @property
    def total(self) -> int:
        return sum(kind.total for kind in self.kinds)


def briefings(linked: Linked, *, hint: bool) -> tuple[str, ...]:
    """The list for a prompt, from the fullest to a mere count; the first that fits is the one to take.

    Nothing without links. `hint`: whether the reader has the tool that tells more.
    """
    if not linked.kinds:
        return ()
    end = f"\n{HINT}" if hint else ""
    texts = [f"{LEGEND}\n{_listed(linked, each, kinds)}{end}" for each, kinds in _STEPS[:-1]]
    texts.append("Linked: " + ", ".join(_counted(kind) for kind in linked.kinds) + "." + end)
    return tuple(dict.fromkeys(texts))


def _listed(linked: Linked, each: int, most_kinds: int) -> str:
    groups = {kind: list(records) for kind, records in groupby(linked.records, key=lambda one: one.kind)}
    blocks = [_block(kind, groups.get(kind.key, [])[:each]) for kind in linked.kinds[:most_kinds]]
    rest = [_counted(kind) for kind in linked.kinds[most_kinds:]]
    return "\n".join([*blocks, f"Also: {', '.join(rest)}."] if rest else blocks)


def _block(kind: Kind, shown: Sequence[LinkedRecord]) -> str:
    left = kind.total - len(shown)
    heading = f"## {_flat(kind.name)} ({kind.total}{f', first {len(shown)}' if left else ''})"
    more = [f"- ... and {left} more"] if left else []
    return "\n".join([heading, *map(_line, shown), *more])


def _line(record: LinkedRecord) -> str:
    """`- Name [task/T-1] (open; due 2026-03-06): → depends_on`."""
    due = f"due {_flat(record.due)}" if record.due else ""
    about = "; ".join(filter(None, (_flat(record.state), _flat(record.type_key), due)))
    mark = " (context document: the project in its owner's words)" if record.is_context else ""
    relations = ", ".join(f"{_ARROWS[one.direction]} {one.name}" for one in record.relations)
    return f"- {_clipped(record.name)} [{record.handle}]{f' ({about})' if about else ''}{mark}: {relations}"


def _counted(kind: Kind) -> str:
    return f"{_flat(kind.name)} {kind.total}"


def _clipped(name: str) -> str:
    flat = _flat(name)
    return flat if len(flat) <= _LONGEST_NAME else flat[: _LONGEST_NAME - 1].rstrip() + "…"


def _flat(text: str) -> str:
    """One line: what somebody called a record cannot begin a heading or a list of its own."""
    return " ".join(text.split())
