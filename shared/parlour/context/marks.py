"""Where a prompt is marked for the provider's cache: at most four places, and only where a mark is likely to pay.

Writing to the cache costs 1.25 times an uncached token and reading 0.1 times, so a mark pays when the prefix is read
again with a likelihood of more than 0.25 / 0.9 = 28 %. How likely that is, a session tells by itself: by the pauses
between its turns, and by how many steps its turns take. A prefix below the model's minimum is never cached, silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from parlour.context.pins import WARM_FOR
from parlour.context.segment import Layer, Segment

MOST = 4
WRITE, READ = 1.25, 0.1
PAYS_FROM = (WRITE - 1) / (1 - READ)

MINIMUM_CACHED_TOKENS = 1_024
"""The smallest prefix that most models cache; some ask for more."""

_MINIMA = {"haiku": 2_048, "haiku-4-5": 4_096, "opus-4-5": 4_096, "opus-4-6": 4_096}
"""Models that ask for a longer prefix, by a part of their name (Anthropic's documentation of prompt caching)."""

_MARKABLE = (Layer.TIERS, Layer.BRIEFING, Layer.HISTORY, Layer.CALLS)
"""Where marks go: after what is configured, after the briefing, after the history, at the moving end of the calls."""

_PRIOR = 0.5
_NEWEST = 0.5
"""How much of an expectation the newest observation makes up: people keep the pace they are at."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a session goes, oldest first: seconds between its newest turns, and the steps that each took."""

    gaps: tuple[float, ...] = ()
    steps: tuple[int, ...] = ()

    def turn_follows(self) -> float:
        """How likely the next turn comes while the cache is warm."""
        return _expected([gap <= WARM_FOR.total_seconds() for gap in self.gaps])

    def step_follows(self, step: int) -> float:
        """How likely the turn goes on after `step`: so it did in turns that came that far."""
        return _expected([steps > step for steps in self.steps if steps >= step])


def minimum(model: str) -> int:
    """The shortest prefix in tokens that `model` caches."""
    known = [tokens for part, tokens in _MINIMA.items() if part in model]
    return max(known, default=MINIMUM_CACHED_TOKENS)


def choose(
    segments: Sequence[Segment], pace: Pace, step: int, model: str, written: Mapping[Layer, bool] | None = None
) -> tuple[Layer, ...]:
    """The layers at whose end the prompt of `step` is marked; `segments` in the order of their bytes.

    written  layers whose end was marked in the session's last prompt, with whether the bytes up to there are the same:
             a mark there costs nothing more, and is what reads them.
    """
    was = written or {}
    more = pace.step_follows(step)
    again = 1 - (1 - more) * (1 - pace.turn_follows())
    chosen: list[Layer] = []
    for layer, tokens in _prefixes(segments).items():
        likely = more if layer in {Layer.MESSAGE, Layer.CALLS} else again
        if tokens >= minimum(model) and (likely > PAYS_FROM or was.get(layer, False)):
            chosen.append(layer)
    return tuple(chosen[-MOST:])


def _prefixes(segments: Sequence[Segment]) -> dict[Layer, int]:
    """The tokens up to the end of each place that may be marked; the opening message until there are calls."""
    total, found = 0, {}
    for segment in segments:
        total += segment.tokens
        if segment.placement in {"opening", "tail"}:
            found[Layer.MESSAGE] = total
        elif segment.layer in _MARKABLE and segment.blocks and segment.placement != "last":
            found[segment.layer] = total
    if Layer.CALLS in found:
        found.pop(Layer.MESSAGE, None)
    return found


def _expected(seen: Sequence[bool]) -> float:
    likely = _PRIOR
    for one in seen:
        likely += _NEWEST * (float(one) - likely)
    return likely
