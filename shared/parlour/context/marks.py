"""Where a prompt is marked for the provider's cache: at most four places, and only where a mark is likely to pay.

A mark writes the bytes up to it to the cache, and lets the next prompt that begins with the same bytes read them there.
Writing costs 1.25 times an uncached token and reading 0.1 times. So a mark pays when what it writes is read again with
a likelihood of more than 0.25 / 0.9 = 28 %; of more than 0.25 / 1.15 = 22 % where the prompt that reads it would write
it otherwise, as a next turn does. How likely that is, a session tells by itself: by the pauses between its turns, and
by how many steps its turns take.

Prices, minima and the look back: Anthropic's documentation, "Prompt caching"
(platform.claude.com/docs/en/build-with-claude/prompt-caching), in October 2026.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from parlour.context.pins import WARM_FOR
from parlour.context.segment import Layer, Segment

MOST = 4
WRITE, READ = 1.25, 0.1
"""Prices by that of an uncached token, cached for five minutes. Some models read for less (Sonnet 5.5: 0.05)."""

LOOK_BACK = 20
"""Places that the provider looks at from a mark backwards for what was marked before, the mark's own the first.
Anthropic's own API counts a run of calls or of results as one; elsewhere every block counts, and so it does here."""

MINIMUM_CACHED_TOKENS = 1_024
"""The smallest prefix of a model that is not named below. Shorter ones are not cached, silently and free of charge."""

_MINIMA = {
    512: ("fable-5", "mythos-5", "opus-5", "sonnet-5-5", "haiku-5-5"),
    1_024: ("opus-4", "sonnet-4", "sonnet-5", "3-7-sonnet"),
    2_048: ("mythos-preview", "opus-4-7", "3-5-haiku", "3-haiku"),
    4_096: ("opus-4-5", "opus-4-6", "haiku-4-5"),
}
"""The smallest prefix in tokens that is cached, with parts of models' names; the longest part that fits holds."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a session goes, oldest first: seconds between its newest turns, and the steps that each took."""

    gaps: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()

    def turn_follows(self) -> float:
        """How likely the next turn comes while the cache is warm."""
        return _expected([gap <= WARM_FOR.total_seconds() for gap in self.gaps], _NEXT_TURN)

    def step_follows(self, step: int) -> float:
        """How likely the turn goes on after `step`: what its session did after a first step, or after any later one."""
        if step == 1:
            return _expected([steps > 1 for steps in self.steps], _SECOND_STEP)
        later = [number < steps for steps in self.steps for number in range(2, steps + 1)]
        return _expected(later, _LATER_STEP)


@dataclass(frozen=True, slots=True)
class _Place:
    """After how many blocks a prompt may be marked, the tokens up to there, and what each is expected to save later."""

    blocks: int
    tokens: int
    saves: float


def minimum(model: str) -> int:
    """The shortest prefix in tokens that `model` (a provider's name for it) caches."""
    known = [(len(part), tokens) for tokens, parts in _MINIMA.items() for part in parts if part in model]
    return max(known)[1] if known else MINIMUM_CACHED_TOKENS


def choose(
    segments: Sequence[Segment], pace: Pace, step: int, model: str, cached: Collection[int] = ()
) -> tuple[int, ...]:
    """After how many blocks the prompt of `step` is marked, ascending; `segments` in the order of their bytes.

    cached  places that were marked before and whose bytes are the same: another mark costs nothing more there, and is
            what reads them.
    """
    least = minimum(model)
    paying = [
        one.blocks
        for one in _places(segments, pace, step)
        if one.tokens >= least and (one.saves > WRITE - 1 or one.blocks in cached)
    ]
    read = max(cached, default=0)
    if read and not any(read <= place < read + LOOK_BACK for place in paying):
        paying = sorted([*paying, read])
    return _most(paying, read)


def _most(places: Sequence[int], read: int) -> tuple[int, ...]:
    """The four that matter: the last, which writes; the one that reads; what the next prompts fall back to, from the
    end; and the first of all, which outlives a new briefing."""
    if len(places) <= MOST:
        return tuple(places)
    needed = [place for place in (places[-1], read, *places[-2:0:-1]) if place in places]
    return tuple(sorted({*list(dict.fromkeys(needed))[: MOST - 1], places[0]}))


def _places(segments: Sequence[Segment], pace: Pace, step: int) -> list[_Place]:
    """Where marks may go: after what is configured, after the briefing, after the user's words, after the turn's tail
    and after its calls. What stays for the next turn is read again by it or by a further step, the rest by a further
    step alone. Of a briefing that was overtaken by changes only the first block outlives the next one."""
    more = pace.step_follows(step)
    changed = any(segment.layer is Layer.DELTAS and segment.blocks for segment in segments)
    next_step = more * (1 - READ)
    next_turn = (1 - more) * pace.turn_follows() * (WRITE - READ)
    found: dict[str, _Place] = {}
    blocks, tokens, stays = 0, 0, True
    for segment in segments:
        if segment.placement == "last" or not segment.blocks:
            continue
        blocks += len(segment.blocks)
        tokens += segment.tokens
        stays = stays and segment.stability != "turn" and segment.layer is not Layer.CALLS
        if segment.layer is not Layer.TOOLS:
            later = segment.blocks[1:] if changed and segment.layer is Layer.BRIEFING else ()
            ends, length = blocks - len(later), tokens - sum(one.tokens for one in later)
            found[_name(segment, stays=stays)] = _Place(ends, length, next_step + (next_turn if stays else 0))
    return list(found.values())


def _name(segment: Segment, *, stays: bool) -> str:
    if segment.placement == "system" or segment.layer is Layer.CALLS:
        return segment.layer.name
    return "words" if stays else "tail"


@dataclass(frozen=True, slots=True)
class _Belief:
    """What is expected before anything was seen, how many observations that counts for, and how much of what was seen
    before is still believed after one more: people keep the pace they are at."""

    likely: float
    weight: float
    kept: float


_NEXT_TURN = _Belief(0.5, 1.0, 0.8)
_SECOND_STEP = _Belief(0.4, 1.0, 0.95)
_LATER_STEP = _Belief(0.3, 1.5, 0.95)
"""Chosen with bench.prompt_cost on scripts with tools in 0, 20, 40, 80 and 100 % of the turns, with one round and with
several, warm, with breaks and an hour apart: what follows differs by less than 1 % between neighbouring values."""


def _expected(seen: Sequence[bool], belief: _Belief) -> float:
    yes, all_seen = belief.likely * belief.weight, belief.weight
    for one in seen:
        yes, all_seen = yes * belief.kept + one, all_seen * belief.kept + 1
    return yes / all_seen
