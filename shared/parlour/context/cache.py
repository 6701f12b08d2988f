"""What of a prompt the provider still had, and who is to blame where it had less than it could. Pure."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from parlour.context import pins
from parlour.context.pins import CAUSES, Cause
from parlour.context.segment import Layer, Segment
from parlour.infra.jsonable import digest_of

type Culprit = Cause | Literal["model", "refit", "unnamed"]
"""Why bytes that were cached were not the same: a cause of the briefing's, another model, results that had to be
shortened between two steps, or nothing that anybody has named: a mistake of ours."""

CULPRITS: tuple[str, ...] = (*(one for one in CAUSES if one != "first"), "model", "refit")
"""Who may be to blame: before the first prompt there is nothing to lose, and nothing stays unnamed."""


@dataclass(frozen=True, slots=True)
class Print:
    """A block's bytes, hashed, and its tokens.

    stays  whether the session's next turn begins with it, too: not so what is said for one turn alone, and not its
           calls, which history tells in fewer words.
    """

    layer: Layer
    hash: str
    tokens: int
    stays: bool = True


@dataclass(frozen=True, slots=True)
class Miss:
    """Bytes that might have been cached and had to be read anew.

    layer   the first whose bytes changed; the prompt's first layer when everything was lost.
    tokens  of the old prompt that its cache no longer serves, as the budget counts them. What they cost is what the
            model's price list says of so many input tokens, less the same read from the cache.
    """

    layer: Layer
    cause: Culprit
    tokens: int


@dataclass(frozen=True, slots=True)
class Served:
    """What of the last prompt is good for this one: so many of its blocks from the first on, and what was lost."""

    blocks: int
    miss: Miss | None = None


def prints(segments: Sequence[Segment]) -> tuple[Print, ...]:
    """The prints of all blocks, in the order of the bytes, but a repeated reminder's: nothing follows that."""
    found: list[Print] = []
    stays = True
    for segment in segments:
        if segment.placement == "last":
            continue
        if segment.blocks:
            stays = stays and segment.stability != "turn" and segment.layer is not Layer.CALLS
        found += [Print(segment.layer, digest_of(one.pieces), one.tokens, stays) for one in segment.blocks]
    return tuple(found)


def compare(
    before: Sequence[Print],
    now: Sequence[Print],
    *,
    asked: datetime | None,
    at: datetime,
    same_model: bool,
    causes: Sequence[Cause],
) -> Served:
    """What the last prompt's cache serves of this one; nothing, and nothing lost, when there was none.

    before      the prints of the last prompt; after a turn is over only those that stay (`Standing.after_turn`).
    same_model  whether that prompt went to the same model: providers cache for each of their models.
    causes      why the briefing was rendered anew since, all of them that hold.

    A prompt that only grew is no miss: the last one is a beginning of it. Words that the user wrote then stand in the
    history now; their bytes are the same.
    """
    if not before or asked is None:
        return Served(0)
    held = sum(one.tokens for one in before)
    if not same_model:
        return Served(0, Miss(before[0].layer, "model", held))
    if not pins.is_warm(asked, at):
        return Served(0, Miss(before[0].layer, "cold", held))
    pairs = zip(before, now, strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0].hash == pair[1].hash, pairs))
    if same == len(before):
        return Served(same)
    lost = sum(one.tokens for one in before[same:])
    return Served(same, Miss(before[same].layer, _blamed(before[same].layer, causes), lost))


_ABLE: dict[Layer, tuple[Cause, ...]] = {
    Layer.TOOLS: ("config",),
    Layer.TIERS: ("config",),
    Layer.SUMMARY: ("cut", "forget", "classification", "budget"),
    Layer.HISTORY: ("cut", "forget", "classification"),
    Layer.MESSAGE: ("cut", "forget", "classification"),
}
"""The causes that change a layer's bytes; any of them changes the briefing's. The words of the last turn's message are
history's by now."""


def _blamed(layer: Layer, causes: Sequence[Cause]) -> Culprit:
    """The first of the causes that has to do with the layer; bytes that changed for no such cause changed unnamed."""
    if layer is Layer.CALLS:
        return "refit"
    able = _ABLE.get(layer, causes)
    return next((one for one in causes if one in able), "unnamed")
