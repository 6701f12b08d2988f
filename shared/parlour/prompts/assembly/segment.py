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

from parlour.infra.json_values import JsonObject, canonical_json
from parlour.prompts.assembly.stored_text import StoredText
from parlour.text.token_counter import MESSAGE_OVERHEAD_TOKENS, TokenCounter


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


type LayerName = Literal[
    "tools",
    "tiers",
    "briefing",
    "summary",
    "history",
    "recall",
    "memory",
    "deltas",
    "state",
    "heartbeat",
    "reminder",
    "message",
    "calls",
]
"""What a layer is called outside the code."""


class SourceKind(StrEnum):
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
    FILE_SUMMARIES = "file_summaries"
    NEAREST = "nearest"
    SUMMARY = "summary"
    PASTED_TEXT = "pasted_text"
    HISTORY = "history"
    RECALL = "recall"
    OTHER_SESSIONS = "other_sessions"
    FACTS = "facts"
    EPISODES = "episodes"
    DELTAS = "deltas"
    STATE = "state"
    HEARTBEAT = "heartbeat"
    REMINDER = "reminder"
    FLOATING_INSTRUCTIONS = "floating_instructions"
    USER_MESSAGES = "user_messages"
    ATTACHMENTS = "attachments"
    CALLS = "calls"

    @property
    def layer(self) -> Layer:
        """The layer that items of this lot go into."""
        return _LAYER_OF_KIND[self]


_LAYER_OF_KIND: dict[SourceKind, Layer] = {
    SourceKind.TOOLS: Layer.TOOLS,
    SourceKind.HUMAN: Layer.TIERS,
    SourceKind.TEAM: Layer.TIERS,
    SourceKind.AGENT: Layer.TIERS,
    SourceKind.COUNTS: Layer.BRIEFING,
    SourceKind.CHANGES: Layer.BRIEFING,
    SourceKind.PULSE: Layer.BRIEFING,
    SourceKind.SINCE_PULSE: Layer.BRIEFING,
    SourceKind.RECORD: Layer.BRIEFING,
    SourceKind.LINKED: Layer.BRIEFING,
    SourceKind.TREE: Layer.BRIEFING,
    SourceKind.PROJECTS: Layer.BRIEFING,
    SourceKind.PROJECT_FILES: Layer.BRIEFING,
    SourceKind.RECENT: Layer.BRIEFING,
    SourceKind.FILE_SUMMARIES: Layer.BRIEFING,
    SourceKind.NEAREST: Layer.BRIEFING,
    SourceKind.SUMMARY: Layer.SUMMARY,
    SourceKind.PASTED_TEXT: Layer.SUMMARY,
    SourceKind.HISTORY: Layer.HISTORY,
    SourceKind.RECALL: Layer.RECALL,
    SourceKind.OTHER_SESSIONS: Layer.RECALL,
    SourceKind.FACTS: Layer.MEMORY,
    SourceKind.EPISODES: Layer.MEMORY,
    SourceKind.DELTAS: Layer.DELTAS,
    SourceKind.STATE: Layer.STATE,
    SourceKind.HEARTBEAT: Layer.HEARTBEAT,
    SourceKind.REMINDER: Layer.REMINDER,
    SourceKind.FLOATING_INSTRUCTIONS: Layer.MESSAGE,
    SourceKind.USER_MESSAGES: Layer.MESSAGE,
    SourceKind.ATTACHMENTS: Layer.MESSAGE,
    SourceKind.CALLS: Layer.CALLS,
}

type Stability = Literal["config", "briefing", "until_compaction", "append_only", "turn"]
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

    text             its text, as the prompt would show it.
    shorter_texts    shorter versions, longest first; used where the text does not fit.
    score            its rank inside its source kind: higher comes first.
    classification   items above the reader's clearance are never in a prompt.
    title            its name for the ledger; never part of a prompt.
    is_json          its text is a whole content block (an image) as canonical JSON.
    further_sources  further rows that it shows: it is erased or withheld with any of them.
    """

    kind: SourceKind
    text: StoredText
    source: Source
    shorter_texts: tuple[StoredText, ...] = ()
    score: float = 0.0
    classification: int = 0
    title: StoredText = ""
    is_json: bool = False
    further_sources: tuple[Source, ...] = ()


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
        """Return the block as it is sent."""
        if self.is_json:
            sent: JsonObject = json.loads(self.pieces[0])
            return sent
        return text_content("".join(self.pieces))


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


_PARLOUR_TAG = re.compile(r"<\s*+(/?)\s*+parlour\s*+(?::\s*+)++", re.IGNORECASE)
"""Models read a tag in capitals or with a space in it as the same tag; taken apart, none may be left."""


def escape_untrusted(text: str) -> str:
    """Somebody else's words (a user's, a document's) with our own tags taken apart: nobody else writes those."""
    return _PARLOUR_TAG.sub(r"<\1parlour ", text) if "<" in text else text


def wrap_in_tag(name: str, *pieces: str) -> tuple[str, ...]:
    """Pieces in the wrapping that tells them from anybody's own words."""
    return (f"<parlour:{name}>\n", *pieces, f"\n</parlour:{name}>")


def text_content(text: str) -> JsonObject:
    """Return a content block of plain text."""
    return {"type": "text", "text": text}


def text_block(counter: TokenCounter, *pieces: str, role: Role | None = None) -> Block:
    """Return a block of text; inside the messages it counts a message's overhead, whether or not it begins one."""
    return Block(pieces, sum(counter.count(piece) for piece in pieces) + _message_overhead(role), role)


def opaque_block(counter: TokenCounter, block: JsonObject, role: Role | None = None) -> Block:
    """Return a block that is anything but text; an image counts what images are estimated to cost."""
    if block.get("type") == "image":
        return Block((canonical_json(block),), IMAGE_TOKENS + _message_overhead(role), role, is_json=True)
    return json_block(counter, canonical_json(block), role)


def json_block(counter: TokenCounter, text: str, role: Role | None = None) -> Block:
    """Return a block that is canonical JSON already."""
    return Block((text,), counter.count(text) + _message_overhead(role), role, is_json=True)


def _message_overhead(role: Role | None) -> int:
    return MESSAGE_OVERHEAD_TOKENS if role else 0


def join_pieces(pieces: Sequence[str], separator: str = "\n\n") -> tuple[str, ...]:
    """Pieces with something between them, as pieces of their own: the same separator is kept once."""
    return tuple(one for piece in pieces for one in (separator, piece))[1:]
