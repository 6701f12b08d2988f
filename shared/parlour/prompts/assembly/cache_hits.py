"""What of a prompt the provider still had, and who is to blame where it had less than it could. Pure."""

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
    """A block's bytes, hashed, and its tokens.

    stays  whether the session's next turn begins with it, too: not so what is said for one turn alone, and not its
           calls, which history tells in fewer words.
    """

    layer: Layer
    hash: str
    tokens: int
    is_in_next_turn: bool = True


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """Bytes that might have been cached and had to be read anew.

    layer   the first whose bytes changed; the prompt's first layer when everything was lost.
    tokens  of the old prompt that its cache no longer serves, as the budget counts them. What they cost is what the
            model's price list says of so many input tokens, less the same read from the cache.
    """

    layer: Layer
    cause: CacheMissCause
    tokens: int


@dataclass(frozen=True, slots=True)
class CacheHit:
    """What of the last prompt is good for this one: so many of its blocks from the first on, and what was lost."""

    block_count: int
    miss: CacheMiss | None = None


def fingerprint_blocks(segments: Sequence[Segment]) -> tuple[BlockFingerprint, ...]:
    """The prints of all blocks, in the order of the bytes, but a repeated reminder's: nothing follows that."""
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
    """What the last prompt's cache serves of this one; nothing, and nothing lost, when there was none.

    before      the prints of the last prompt; after a turn is over only those that stay (`Standing.after_turn`).
    same_model  whether that prompt went to the same model: providers cache for each of their models.
    causes      why the briefing was rendered anew since, all of them that hold.

    A prompt that only grew is no miss: the last one is a beginning of it. Words that the user wrote then stand in the
    history now; their bytes are the same.
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
    """The first of the causes that has to do with the layer; bytes that changed for no such cause changed unnamed."""
    if layer is Layer.CALLS:
        return "results_truncated"
    able = _CAUSES_BY_LAYER.get(layer, refresh_causes)
    return next((one for one in refresh_causes if one in able), "unnamed")
