"""How much of the previous prompt the provider's cache serves, and why it serves less than it could. Pure."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from parlour.infra.json_values import digest_of_texts
from parlour.prompts.assembly import briefing_cache
from parlour.prompts.assembly.briefing_cache import REFRESH_CAUSES, RefreshCause
from parlour.prompts.assembly.segment import Layer, Segment

type CacheMissCause = RefreshCause | Literal["model", "results_truncated", "unnamed"]
"""Why bytes that were cached were not the same: a cause of the briefing's, another model, results that had to be
shortened between two steps, or nothing that anybody has named: a mistake of ours."""

CACHE_MISS_CAUSES: tuple[str, ...] = (*(one for one in REFRESH_CAUSES if one != "first"), "model", "results_truncated")
"""Who may be to blame: before the first prompt there is nothing to lose, and nothing stays unnamed."""


@dataclass(frozen=True, slots=True)
class BlockFingerprint:
    """The hash and the tokens of a block.

    is_in_next_turn  whether the next turn's prompt repeats it; not so for the tail and for tool calls.
    """

    layer: Layer
    hash: str
    tokens: int
    is_in_next_turn: bool = True


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """Bytes that the cache could have served and that changed.

    layer   the first layer whose bytes changed; the prompt's first layer when everything was lost.
    tokens  of the old prompt that the cache does not serve any more, as the budget counts them. Their cost is the
            model's price of uncached input, less the price of reading them from the cache.
    """

    layer: Layer
    cause: CacheMissCause
    tokens: int


@dataclass(frozen=True, slots=True)
class CacheHit:
    """The number of first blocks that are the same as in the last prompt, and what was lost."""

    block_count: int
    miss: CacheMiss | None = None


def fingerprint_blocks(segments: Sequence[Segment]) -> tuple[BlockFingerprint, ...]:
    """Return the fingerprints of all blocks in order, except those of a repeated reminder, which nothing follows."""
    found: list[BlockFingerprint] = []
    stays = True
    for segment in segments:
        if segment.placement == "last":
            continue
        if segment.blocks:
            stays = stays and segment.stability != "turn" and segment.layer is not Layer.CALLS
        found += [
            BlockFingerprint(segment.layer, digest_of_texts(one.pieces), one.tokens, stays) for one in segment.blocks
        ]
    return tuple(found)


def compare_prompts(
    before: Sequence[BlockFingerprint],
    current: Sequence[BlockFingerprint],
    *,
    last_asked_at: datetime | None,
    at: datetime,
    is_same_model: bool,
    refresh_causes: Sequence[RefreshCause],
) -> CacheHit:
    """Compare a prompt with the last one; a first prompt has no hit and no miss.

    before          the fingerprints of the last prompt; after a turn only those that the next turn repeats.
    is_same_model   whether the last prompt went to the same model: each model has its own cache.
    refresh_causes  every cause why the briefing was rendered again since.

    A prompt that only grew is no miss, because it begins with the last one.
    """
    if not before or last_asked_at is None:
        return CacheHit(0)
    held = sum(one.tokens for one in before)
    if not is_same_model:
        return CacheHit(0, CacheMiss(before[0].layer, "model", held))
    if not briefing_cache.is_cache_warm(last_asked_at, at):
        return CacheHit(0, CacheMiss(before[0].layer, "cold", held))
    pairs = zip(before, current, strict=False)
    same = sum(1 for _ in itertools.takewhile(lambda pair: pair[0].hash == pair[1].hash, pairs))
    if same == len(before):
        return CacheHit(same)
    lost = sum(one.tokens for one in before[same:])
    return CacheHit(same, CacheMiss(before[same].layer, _miss_cause(before[same].layer, refresh_causes), lost))


_CAUSES_BY_LAYER: dict[Layer, tuple[RefreshCause, ...]] = {
    Layer.TOOLS: ("config",),
    Layer.TIERS: ("config",),
    Layer.SUMMARY: ("compaction", "erasure", "classification", "budget"),
    Layer.HISTORY: ("compaction", "erasure", "classification"),
    Layer.MESSAGE: ("compaction", "erasure", "classification"),
}
"""The causes that change a layer's bytes; any of them changes the briefing's. The words of the last turn's message are
history's by now."""


def _miss_cause(layer: Layer, refresh_causes: Sequence[RefreshCause]) -> CacheMissCause:
    """Return the first cause that can change this layer, else "unnamed"."""
    if layer is Layer.CALLS:
        return "results_truncated"
    able = _CAUSES_BY_LAYER.get(layer, refresh_causes)
    return next((one for one in refresh_causes if one in able), "unnamed")
