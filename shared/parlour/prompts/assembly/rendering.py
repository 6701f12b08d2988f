"""Segments to the bytes that are sent: tools, system, messages, and the marks of the prompt cache."""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from parlour.infra.json_values import Json, JsonObject, canonical_digest
from parlour.prompts.assembly.segment import Block, Layer, Role, Segment

_CACHE_CONTROL: JsonObject = {"type": "ephemeral"}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked, as JSON in the shape of Anthropic's Messages API."""

    tools: tuple[JsonObject, ...]
    system: tuple[JsonObject, ...]
    messages: tuple[JsonObject, ...]

    @property
    def hash(self) -> str:
        """The SHA-256 of the canonical prompt; two prompts with the same hash are the same bytes."""
        return canonical_digest([list(self.tools), list(self.system), list(self.messages)])


def sort_segments(segments: Sequence[Segment]) -> list[Segment]:
    """Segments in the order of their bytes: the opening message and its tail come before the turn's calls, and a
    repeated reminder after them."""
    return sorted(segments, key=_sort_key)


def render_prompt(segments: Sequence[Segment], breakpoints: Collection[int] = ()) -> Prompt:
    """Lay the segments out; `marked` says after how many blocks the prompt is marked for the cache.

    Blocks of one role in a row become one message: the API wants the roles to alternate.
    """
    ordered = sort_segments(segments)
    numbers = itertools.count(1)
    numbered = [(one, block, next(numbers) in breakpoints) for one in ordered for block in one.blocks]
    tools = tuple(_block_json(block, is_marked) for one, block, is_marked in numbered if one.placement == "tools")
    system = tuple(_block_json(block, is_marked) for one, block, is_marked in numbered if one.placement == "system")
    messages: list[tuple[Role, list[Json]]] = []
    for one, block, is_marked in numbered:
        if one.placement in {"tools", "system"}:
            continue
        role = block.role or "user"
        if not messages or messages[-1][0] != role:
            messages.append((role, []))
        messages[-1][1].append(_block_json(block, is_marked))
    return Prompt(tools, system, tuple({"role": role, "content": content} for role, content in messages))


def _sort_key(segment: Segment) -> tuple[int, int]:
    """Order opening before tail before calls, whatever the numbers of their layers."""
    rank = {"tools": 0, "system": 1, "messages": 2, "opening": 3, "tail": 4, "last": 6}[segment.placement]
    if segment.layer is Layer.CALLS:
        rank = 5
    return rank, segment.layer


def _block_json(block: Block, is_marked: bool) -> JsonObject:
    sent = block.to_json()
    return {**sent, "cache_control": _CACHE_CONTROL} if is_marked else sent
