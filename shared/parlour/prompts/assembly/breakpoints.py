"""Cache breakpoints: where a prompt is marked for the provider's cache, at most four places.

A breakpoint writes the bytes up to it to the cache. The next prompt that begins with the same bytes reads them there.
Writing costs 1.25 times an uncached token and reading 0.1 times, so a breakpoint pays when what it writes is read again
with a likelihood of more than 0.25 / 0.9 = 28 %. A fixed rule decides (`choose_cache_breakpoints`): on
`bench.prompt_cost` it costs at most 2 % more than expectations learned from each session did.

Prices, minima and the look back: Anthropic's documentation, "Prompt caching"
(platform.claude.com/docs/en/build-with-claude/prompt-caching), in October 2026.
"""

from collections.abc import Collection, Iterator, Sequence

from parlour.prompts.assembly.briefing_cache import CACHE_LIFETIME
from parlour.prompts.assembly.segment import Layer, Segment

#: Breakpoints that a provider takes in one prompt.
MAX_BREAKPOINTS = 4

#: Price of writing to the cache, by that of an uncached token, kept for five minutes.
WRITE_PRICE_FACTOR = 1.25

#: Price of reading from it. Some models read for less (Sonnet 5.5: 0.05).
READ_PRICE_FACTOR = 0.1

#: Blocks that the provider looks at from a breakpoint backwards for an earlier one, the breakpoint's own the first.
#: Anthropic's own API counts a run of calls or of results as one; elsewhere every block counts, and so it does here.
LOOK_BACK_BLOCKS = 20

#: The smallest prefix in tokens of a model that is not named below. Shorter ones are not cached, silently and for free.
DEFAULT_MIN_CACHED_TOKENS = 1_024

#: The smallest prefix in tokens that is cached, with parts of models' names; the longest part that fits holds.
_MIN_TOKENS = {
    512: ("fable-5", "mythos-5", "opus-5", "sonnet-5-5", "haiku-5-5"),
    1_024: ("opus-4", "sonnet-4", "sonnet-5", "3-7-sonnet"),
    2_048: ("mythos-preview", "opus-4-7", "3-5-haiku", "3-haiku"),
    4_096: ("opus-4-5", "opus-4-6", "haiku-4-5"),
}

#: Pauses between turns that tell whether the next turn comes while the cache is warm.
RECENT_PAUSES = 2

#: Turns that tell whether another step follows. From 4 to 8, `bench.prompt_cost` differs by less than 1 %.
RECENT_TURNS = 5


def min_cached_tokens(model: str) -> int:
    """Return the shortest prefix in tokens that `model` (a provider's name for it) caches."""
    known = [(len(part), tokens) for tokens, parts in _MIN_TOKENS.items() for part in parts if part in model]
    return max(known)[1] if known else DEFAULT_MIN_CACHED_TOKENS


def is_turn_expected(pauses: Sequence[float]) -> bool:
    """Return whether the next turn is likely to find the cache warm: one of the last two pauses (seconds) did."""
    return len(pauses) < RECENT_PAUSES or min(pauses[-RECENT_PAUSES:]) <= CACHE_LIFETIME.total_seconds()


def is_step_expected(steps: Sequence[int], step: int) -> bool:
    """Return whether the turn is likely to go on after `step`: one of the last five turns took more steps."""
    return not steps or max(steps[-RECENT_TURNS:]) > step


def choose_cache_breakpoints(
    segments: Sequence[Segment],
    turn_pauses: Sequence[float],
    steps_per_turn: Sequence[int],
    step_number: int,
    model: str,
    cached_breakpoints: Collection[int] = (),
) -> tuple[int, ...]:
    """Return after how many blocks the prompt of `step` is marked, ascending.

    Where another step is expected, every place is marked; where only the next turn is, those whose bytes it repeats;
    else none. A prefix below the model's minimum is not marked.

    segments  in the order of their bytes.
    pauses    seconds between the session's newest turns, oldest first.
    steps     how many steps each of its newest turns took, oldest first.
    cached    places that were marked before and whose bytes are the same. Where no new breakpoint would find the last
              of them, it is set again.
    """
    needs_step, needs_turn = is_step_expected(steps_per_turn, step_number), is_turn_expected(turn_pauses)
    least = min_cached_tokens(model)
    chosen = [
        blocks
        for blocks, tokens, is_kept in _breakpoint_candidates(segments)
        if tokens >= least and (needs_step or (needs_turn and is_kept))
    ]
    read = max(cached_breakpoints, default=0)
    if read and not any(read <= place < read + LOOK_BACK_BLOCKS for place in chosen):
        chosen = sorted([*chosen, read])
    if len(chosen) > MAX_BREAKPOINTS:
        # The first outlives a new briefing, `read` finds what is cached, the last two are what the next prompt finds.
        chosen = sorted({chosen[0], read or chosen[1], *chosen[-2:]})
    return tuple(chosen)


def _breakpoint_candidates(segments: Sequence[Segment]) -> Iterator[tuple[int, int, bool]]:
    """Yield where breakpoints may go: the blocks and tokens up to there, and whether the next turn repeats them.

    They are the ends of the tiers, of the briefing, of the user's words, of the turn's tail and of its calls. Of a
    briefing that was overtaken by changes only the first block outlives the next one.
    """
    is_changed = any(segment.layer is Layer.DELTAS and segment.blocks for segment in segments)
    ends: dict[str, tuple[int, int, bool]] = {}
    blocks, tokens, is_kept = 0, 0, True
    for segment in segments:
        if segment.placement == "last" or not segment.blocks:
            continue
        blocks += len(segment.blocks)
        tokens += segment.tokens
        is_kept = is_kept and segment.stability != "turn" and segment.layer is not Layer.CALLS
        if segment.layer is Layer.TOOLS:
            continue
        overtaken = segment.blocks[1:] if is_changed and segment.layer is Layer.BRIEFING else ()
        is_named = segment.placement == "system" or segment.layer is Layer.CALLS
        part = segment.layer.name if is_named else "words" if is_kept else "tail"
        ends[part] = blocks - len(overtaken), tokens - sum(block.tokens for block in overtaken), is_kept
    yield from ends.values()
