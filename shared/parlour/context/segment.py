"""A prompt is a list of segments: what each layer contributes, how long its bytes stay, where it goes.

The layers, their order and their numbers are the table of the design, section 7. What might go into a layer are items;
what does go in stands in blocks, made of the items' own pieces, so that any prompt can be taken apart again.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Literal

from parlour.context.stored_text import StoredText
from parlour.context.tokens import MESSAGE_OVERHEAD, Meter
from parlour.infra.jsonable import JsonObject, canonical


class Layer(IntEnum):
    """The layers of a prompt, in the order of their bytes."""

    TOOLS = 0
    TIERS = 1
    BRIEFING = 2
    SUMMARY = 3
    HISTORY = 4
    RECALL = 5
    MEMORY = 6
    DELTAS = 7
    STATE = 8
    HEARTBEAT = 9
    REMINDER = 10
    MESSAGE = 11
    CALLS = 12


class Lot(StrEnum):
    """Kinds of items; each belongs to one layer. Lots, not layers, are what is dropped before another."""

    TOOLS = "tools"
    HUMAN = "human"
    TEAM = "team"
    AGENT = "agent"
    PULSE = "pulse"
    COUNTS = "counts"
    CHANGES = "changes"
    SINCE_PULSE = "since_pulse"
    RECORD = "record"
    LINKED = "linked"
    TREE = "tree"
    PROJECTS = "projects"
    PROJECT_FILES = "project_files"
    RECENT = "recent"
    DISTILLATIONS = "distillations"
    NEAREST = "nearest"
    SUMMARY = "summary"
    PASTED = "pasted"
    HISTORY = "history"
    RECALL = "recall"
    OTHER_SESSIONS = "other_sessions"
    FACTS = "facts"
    EPISODES = "episodes"
    DELTAS = "deltas"
    STATE = "state"
    HEARTBEAT = "heartbeat"
    REMINDER = "reminder"
    FLOATING = "floating"
    WORDS = "words"
    ATTACHMENTS = "attachments"
    CALLS = "calls"

    @property
    def layer(self) -> Layer:
        """The layer that items of this lot go into."""
        return _LAYERS[self]


_LAYERS: dict[Lot, Layer] = {
    Lot.TOOLS: Layer.TOOLS,
    Lot.HUMAN: Layer.TIERS, Lot.TEAM: Layer.TIERS, Lot.AGENT: Layer.TIERS,
    Lot.COUNTS: Layer.BRIEFING, Lot.CHANGES: Layer.BRIEFING,
    Lot.PULSE: Layer.BRIEFING, Lot.SINCE_PULSE: Layer.BRIEFING, Lot.RECORD: Layer.BRIEFING, Lot.LINKED: Layer.BRIEFING,
    Lot.TREE: Layer.BRIEFING, Lot.PROJECTS: Layer.BRIEFING, Lot.PROJECT_FILES: Layer.BRIEFING,
    Lot.RECENT: Layer.BRIEFING, Lot.DISTILLATIONS: Layer.BRIEFING, Lot.NEAREST: Layer.BRIEFING,
    Lot.SUMMARY: Layer.SUMMARY, Lot.PASTED: Layer.SUMMARY,
    Lot.HISTORY: Layer.HISTORY,
    Lot.RECALL: Layer.RECALL, Lot.OTHER_SESSIONS: Layer.RECALL,
    Lot.FACTS: Layer.MEMORY, Lot.EPISODES: Layer.MEMORY,
    Lot.DELTAS: Layer.DELTAS, Lot.STATE: Layer.STATE,
    Lot.HEARTBEAT: Layer.HEARTBEAT, Lot.REMINDER: Layer.REMINDER,
    Lot.FLOATING: Layer.MESSAGE, Lot.WORDS: Layer.MESSAGE, Lot.ATTACHMENTS: Layer.MESSAGE,
    Lot.CALLS: Layer.CALLS,
}  # fmt: skip

type Stability = Literal["config", "briefing", "until_cut", "append_only", "turn"]
"""How long a segment's bytes stay the same: until its cause changes, until the next cut, for ever, this turn."""

type Placement = Literal["tools", "system", "messages", "opening", "tail", "last"]
"""Where it goes. `opening` and `tail` share the user message that opened the turn, in that order; `last` comes after
everything, where a reminder is repeated once tools have answered."""

type Role = Literal["user", "assistant"]

IMAGE_TOKENS = 1_600
"""What an image is taken to cost, whatever its size: about what Anthropic's API charges for the largest it does not
shrink (width x height / 750)."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where an item's words come from: a row of a table, at a version (0 where rows have none)."""

    table: str
    id: str
    version: int = 0


@dataclass(frozen=True, slots=True)
class Item:
    """One candidate for a prompt.

    text      its words, as they would stand in the prompt.
    shorter   the same in fewer words, fullest first; taken where the whole does not fit.
    score     what decides inside its lot: higher comes first, oldest-first lots ignore it.
    level     its classification: above the reader's clearance it never gets in.
    title     what people call it, for the ledger; never part of a prompt.
    is_json   its text is a whole content block (an image) as canonical JSON.
    also      further rows that it tells of: with the source, what it must be forgotten or hidden with.
    """

    lot: Lot
    text: StoredText
    source: Source
    shorter: tuple[StoredText, ...] = ()
    score: float = 0.0
    level: int = 0
    title: StoredText = ""
    is_json: bool = False
    also: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Block:
    """A content block in the making: its pieces with nothing between them.

    role     whose message it stands in; None outside the messages.
    is_json  its one piece is a whole block (a tool's definition, a call, a result, an image) as canonical JSON.
    tokens   its pieces, counted one by one; what the budget reckons with.
    """

    pieces: tuple[StoredText, ...]
    tokens: int
    role: Role | None = None
    is_json: bool = False

    def to_json(self) -> JsonObject:
        """The block as it is sent."""
        if self.is_json:
            sent: JsonObject = json.loads(self.pieces[0])
            return sent
        return text_block("".join(self.pieces))


@dataclass(frozen=True, slots=True)
class Segment:
    """One layer's contribution to an assembled prompt."""

    layer: Layer
    stability: Stability
    placement: Placement
    blocks: tuple[Block, ...]

    @property
    def tokens(self) -> int:
        """What it counts for in the budget."""
        return sum(block.tokens for block in self.blocks)


_OUR_TAG = re.compile(r"<\s*(/?)\s*parlour\s*(?::\s*)+", re.IGNORECASE)
"""Models read a tag in capitals or with a space in it as the same tag; taken apart, none may be left."""


def foreign(text: str) -> str:
    """Somebody else's words (a user's, a document's) with our own tags taken apart: nobody else writes those."""
    return _OUR_TAG.sub(r"<\1parlour ", text) if "<" in text else text


def tagged(name: str, *pieces: str) -> tuple[str, ...]:
    """Pieces in the wrapping that tells them from anybody's own words."""
    return (f"<parlour:{name}>\n", *pieces, f"\n</parlour:{name}>")


def text_block(text: str) -> JsonObject:
    """A content block of plain text."""
    return {"type": "text", "text": text}


def words(meter: Meter, *pieces: str, role: Role | None = None) -> Block:
    """A block of text; inside the messages it counts a message's overhead, whether or not it begins one."""
    return Block(pieces, sum(meter.count(piece) for piece in pieces) + _overhead(role), role)


def whole(meter: Meter, block: JsonObject, role: Role | None = None) -> Block:
    """A block that is anything but text; an image counts for what images are taken to cost."""
    if block.get("type") == "image":
        return Block((canonical(block),), IMAGE_TOKENS + _overhead(role), role, is_json=True)
    return written(meter, canonical(block), role)


def written(meter: Meter, text: str, role: Role | None = None) -> Block:
    """A block that is canonical JSON already."""
    return Block((text,), meter.count(text) + _overhead(role), role, is_json=True)


def _overhead(role: Role | None) -> int:
    return MESSAGE_OVERHEAD if role else 0


def joined(pieces: Sequence[str], between: str = "\n\n") -> tuple[str, ...]:
    """Pieces with something between them, as pieces of their own: the same separator is kept once."""
    return tuple(one for piece in pieces for one in (between, piece))[1:]
