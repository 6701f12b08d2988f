"""Segments to the bytes that are sent: tools, system, messages, and the marks of the prompt cache.

At most four marks are allowed, and a prefix shorter than the model's minimum is silently not cached, so a mark
is set only where it can pay: at the end of the persona, at the end of the briefing, at the end of the history, and
at the moving end of this turn's tool results.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from parlour.context.segment import Layer, Placement, Segment
from parlour.infra.jsonable import Json, JsonObject, digest

MINIMUM_CACHED_TOKENS = 1_024
"""The smallest prefix that Anthropic's larger models cache; smaller models ask for up to 4,096."""

_MARK: JsonObject = {"type": "ephemeral"}
_TAIL = ("<parlour:tail>", "</parlour:tail>")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked, as JSON in the shape of Anthropic's Messages API."""

    tools: tuple[JsonObject, ...]
    system: tuple[JsonObject, ...]
    messages: tuple[JsonObject, ...]

    @property
    def hash(self) -> str:
        """The SHA-256 of the canonical prompt; two prompts with the same hash are the same bytes."""
        return digest([list(self.tools), list(self.system), list(self.messages)])


def tail(text: str) -> str:
    """`text` in the wrapping that tells it from the user's own words."""
    return f"{_TAIL[0]}\n{text}\n{_TAIL[1]}"


def render(segments: Sequence[Segment]) -> Prompt:
    """Lay the segments out in the order of their layers and set the marks that can pay."""
    tools = _blocks(segments, "tools")
    system = _system(segments)
    earlier = _messages(segments, before_opening=True)
    called = _messages(segments, before_opening=False)
    opening: JsonObject = {"role": "user", "content": [*_blocks(segments, "opening"), *_blocks(segments, "tail")]}
    sizes = {segment.layer: segment.tokens for segment in segments}
    prefix = sum(tokens for layer, tokens in sizes.items() if layer <= Layer.BRIEFING)
    if earlier and prefix + _size(segments, "messages") >= MINIMUM_CACHED_TOKENS:
        earlier = (*earlier[:-1], _marked(earlier[-1]))
    if called and sum(sizes.values()) >= MINIMUM_CACHED_TOKENS:
        called = (*called[:-1], _marked(called[-1]))
    return Prompt(tools, system, (*earlier, opening, *called))


def _system(segments: Sequence[Segment]) -> tuple[JsonObject, ...]:
    """The system prompt, with a mark after each of its segments up to which it is long enough."""
    blocks: list[JsonObject] = []
    prefix = sum(segment.tokens for segment in segments if segment.placement == "tools")
    for segment in (one for one in segments if one.placement == "system"):
        prefix += segment.tokens
        marked = {**segment.blocks[-1], "cache_control": _MARK}
        last = marked if prefix >= MINIMUM_CACHED_TOKENS else segment.blocks[-1]
        blocks += [*segment.blocks[:-1], last]
    return tuple(blocks)


def _blocks(segments: Sequence[Segment], placement: Placement) -> tuple[JsonObject, ...]:
    return tuple(block for segment in segments if segment.placement == placement for block in segment.blocks)


def _messages(segments: Sequence[Segment], *, before_opening: bool) -> tuple[JsonObject, ...]:
    """Layer 11 opens the turn: messages of lower layers come before it, those of layer 12 after."""
    chosen = [s for s in segments if s.placement == "messages" and (s.layer < Layer.MESSAGE) == before_opening]
    return tuple(message for segment in chosen for message in segment.blocks)


def _size(segments: Sequence[Segment], placement: Placement) -> int:
    return sum(s.tokens for s in segments if s.placement == placement and s.layer < Layer.MESSAGE)


def _marked(message: JsonObject) -> JsonObject:
    content = message["content"]
    if not isinstance(content, list) or not isinstance(content[-1], dict):
        return message
    marked: list[Json] = [*content[:-1], {**content[-1], "cache_control": _MARK}]
    return {**message, "content": marked}
