"""What of a prompt the provider still had, and who is to blame where it had less than it could. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from parlour.context import pins
from parlour.context.pins import Cause
from parlour.context.segment import Layer, Segment
from parlour.infra.jsonable import digest

type Culprit = Cause | Literal["model", "refit", "unnamed"]
"""Why bytes before the tail were not the same: a cause of the briefing's, another model, results that had to be
shortened between two steps, or nothing that anybody has named: a mistake of ours."""


@dataclass(frozen=True, slots=True)
class Print:
    """A block's bytes, hashed, and its tokens."""

    layer: Layer
    hash: str
    tokens: int


@dataclass(frozen=True, slots=True)
class Miss:
    """Bytes that were cached and had to be read anew.

    layer   the first whose bytes changed; TOOLS when everything was lost.
    tokens  of the old prompt that its cache no longer serves.
    """

    layer: Layer
    cause: Culprit
    tokens: int


def prints(segments: Sequence[Segment]) -> tuple[Print, ...]:
    """The prints of all blocks but the turn's own, in the order of the bytes."""
    stable = [one for one in segments if one.stability != "turn"]
    return tuple(
        Print(one.layer, digest([*block.pieces]), block.tokens) for one in stable for block in one.blocks
    )  # fmt: skip


def miss(
    before: Sequence[Print],
    now: Sequence[Print],
    *,
    asked: datetime | None,
    at: datetime,
    same_model: bool,
    cause: Cause | None,
) -> Miss | None:
    """What was lost of the last prompt; None when all of it still serves, or when there was none.

    History that only grew is no miss: the last prompt is a beginning of this one. The calls of an earlier turn are left
    out of `before`: they were never meant to stay.
    """
    if not before or asked is None:
        return None
    held = sum(one.tokens for one in before)
    if not same_model:
        return Miss(before[0].layer, "model", held)
    if not pins.is_warm(asked, at):
        return Miss(before[0].layer, "cold", held)
    kept = 0
    for place, old in enumerate(before):
        if place >= len(now) or now[place] != old:
            return Miss(old.layer, _blamed(old.layer, cause), held - kept)
        kept += old.tokens
    return None


def _blamed(layer: Layer, cause: Cause | None) -> Culprit:
    if layer in {Layer.TOOLS, Layer.TIERS}:
        return "config"
    if layer is Layer.CALLS:
        return "refit"
    if layer in {Layer.SUMMARY, Layer.HISTORY}:
        return "cut"
    return cause or "unnamed"
