"""A prompt is a list of segments: what each layer contributes, how long its bytes stay, where it goes.

The layers, their order and their numbers are the table of the design, section 7.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from parlour.context import tokens
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


type Stability = Literal["config", "briefing", "until_cut", "append_only", "turn"]
"""How long a segment's bytes stay the same: until its cause changes, until the next cut, for ever, this turn."""

type Placement = Literal["tools", "system", "messages", "opening", "tail"]
"""Where it goes. `opening` and `tail` share the user message that opened the turn, in that order."""


@dataclass(frozen=True, slots=True)
class Segment:
    """One block of an assembled prompt. `blocks` are content blocks, messages or tool definitions, by placement."""

    layer: Layer
    stability: Stability
    placement: Placement
    blocks: tuple[JsonObject, ...]
    tokens: int


_OUR_TAG = re.compile(r"<(/?)\s*parlour\s*:", re.IGNORECASE)
"""Models read a tag in capitals or with a space in it as the same tag."""


def foreign(text: str) -> str:
    """Somebody else's words (a user's, a document's) with our own tags taken apart: nobody else writes those."""
    return _OUR_TAG.sub(r"<\1parlour ", text)


def text_block(text: str) -> JsonObject:
    """A content block of plain text."""
    return {"type": "text", "text": text}


def measure(blocks: tuple[JsonObject, ...]) -> int:
    """The tokens of blocks as they are sent: text for what it says, anything structured as its JSON."""
    return sum(_measure_block(block) for block in blocks)


def _measure_block(block: JsonObject) -> int:
    if block.get("type") == "text":
        return tokens.count(str(block["text"]))
    if "role" in block:
        content = block["content"]
        inner = tuple(part for part in content if isinstance(part, dict)) if isinstance(content, list) else ()
        return measure(inner) + tokens.MESSAGE_OVERHEAD
    return tokens.count(canonical(block))
