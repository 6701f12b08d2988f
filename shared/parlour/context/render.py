"""Segments to the bytes that are sent: tools, system, messages, and the marks of the prompt cache."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from parlour.context.segment import Block, Layer, Placement, Role, Segment
from parlour.infra.jsonable import Json, JsonObject, digest

_MARK: JsonObject = {"type": "ephemeral"}


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


def in_order(segments: Sequence[Segment]) -> list[Segment]:
    """Segments in the order of their bytes: the opening message and its tail come before the turn's calls, and a
    repeated reminder after them."""
    return sorted(segments, key=_place)


def render(segments: Sequence[Segment], marked: Collection[Layer] = ()) -> Prompt:
    """Lay the segments out and set a mark at the end of each layer in `marked`; the last segment of a layer carries it.

    Blocks of one role in a row become one message: the API wants the roles to alternate.
    """
    ordered = in_order(segments)
    ends = {layer: last for layer in marked if (last := _last_block(ordered, layer)) is not None}
    marks = {id(block) for block in ends.values()}
    tools = _blocks(ordered, "tools", marks)
    system = _blocks(ordered, "system", marks)
    return Prompt(tools, system, _messages(ordered, marks))


def _place(segment: Segment) -> tuple[int, int]:
    """Opening before tail before calls, whatever the numbers of their layers."""
    rank = {"tools": 0, "system": 1, "messages": 2, "opening": 3, "tail": 4, "last": 6}[segment.placement]
    if segment.layer is Layer.CALLS:
        rank = 5
    return rank, segment.layer


def _last_block(ordered: Sequence[Segment], layer: Layer) -> Block | None:
    """A mark on the message that opened the turn comes after its tail."""
    wanted = [s for s in ordered if s.layer is layer and s.placement != "last" and s.blocks]
    if layer is Layer.MESSAGE:
        wanted = [s for s in ordered if s.placement in {"opening", "tail"} and s.blocks]
    return wanted[-1].blocks[-1] if wanted else None


def _blocks(ordered: Sequence[Segment], placement: Placement, marks: Collection[int]) -> tuple[JsonObject, ...]:
    return tuple(_block(block, marks) for one in ordered if one.placement == placement for block in one.blocks)


def _messages(ordered: Sequence[Segment], marks: Collection[int]) -> tuple[JsonObject, ...]:
    messages: list[tuple[Role, list[Json]]] = []
    for block in (block for one in ordered if one.placement not in {"tools", "system"} for block in one.blocks):
        role = block.role or "user"
        if not messages or messages[-1][0] != role:
            messages.append((role, []))
        messages[-1][1].append(_block(block, marks))
    return tuple({"role": role, "content": content} for role, content in messages)


def _block(block: Block, marks: Collection[int]) -> JsonObject:
    sent = block.to_json()
    return {**sent, "cache_control": _MARK} if id(block) in marks else sent
