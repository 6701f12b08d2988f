"""What prompts went on telling of people after they had said otherwise, facts aside: in what was written down of a
conversation. Facts are counted by themselves (`stale_served`). Pure.

A value of the script that was changed or taken back in an earlier turn is told as current where a summary, a line that
is kept word for word, a recap or a note has its words, one after another, and nothing that stands after them in the
same conversation's part of the prompt says what ended it: the message that changed it or took it back, or one that
tells the fact since, by its first words. Which comes later is decided as a reader would, by where it stands: what
leads the history comes before the messages themselves, which are not looked into for old values, since there the words
stand where and when they were said. That a fact of the prompt says otherwise does not take it out; how often one does
is counted beside it, for then the reader can tell, and for what was taken back there is no such fact.

Episodes and anchors stand under their day: what they have is what was so then. They are counted apart.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import takewhile
from typing import Literal

from bench.months import Month
from bench.planted import Planted, begun, ending, words

type Layer = Literal["summary", "kept", "recap", "messages", "notes", "facts", "episodes", "anchors"]

UNDATED: tuple[Layer, ...] = ("summary", "kept", "recap", "notes")
DATED: tuple[Layer, ...] = ("episodes", "anchors")
_TALK: tuple[Layer, ...] = ("summary", "kept", "recap", "messages", "notes")
"""A conversation's part of a prompt, in the order in which it is read."""

_OPENING = 8
"""Words by which a message is known again: a recap and the clerk's summaries have more of one."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of the product, when its turn began, and what its layers say, in their order."""

    who: str
    at: datetime
    parts: tuple[tuple[Layer, str], ...]

    def of(self, *layers: Layer) -> list[tuple[Layer, str]]:
        """What these layers say, in the order of `layers`."""
        return [part for layer in layers for part in self.parts if part[0] == layer]


@dataclass(frozen=True, slots=True)
class Stale:
    """A value that was over, and a later prompt. layers: which have it; corrected: a fact there says otherwise."""

    one: Planted
    at: datetime
    layers: tuple[Layer, ...]
    corrected: bool

    @property
    def is_current(self) -> bool:
        """Whether it was told as if it were still so."""
        return not set(self.layers).isdisjoint(UNDATED)


def looked_at(month: Month, values: Sequence[Planted], prompts: Sequence[Prompt]) -> list[Stale]:
    """Every prompt with every value of its person that was over when its turn began; without layers where it is told
    by none."""
    found: list[Stale] = []
    for prompt in prompts:
        at = begun(month, prompt.who, prompt.at)
        over = [one for one in values if one.who == prompt.who and one.is_over(at) and not _is_back(one, values, at)]
        found += [_looked(month, values, one, replace(prompt, at=at)) for one in over]
    return found


def figures(found: Sequence[Stale]) -> dict[str, int]:
    """How often something was looked for, each prompt once for every value that was over, and what was found."""
    current = [one for one in found if one.is_current]
    return {
        "looked_for": len(found),
        "as_current": len(current),
        "facts_say_otherwise": sum(one.corrected for one in current),
        "under_a_day": sum(bool(one.layers) and not one.is_current for one in found),
    }


def misses(month: Month, found: Sequence[Stale]) -> Iterator[str]:
    """Each value once: how often it was told as current, by which layers, and after which words."""
    current = [one for one in found if one.is_current]
    for one in dict.fromkeys(stale.one for stale in current):
        own = [stale for stale in current if stale.one is one]
        turn = ending(month, one)
        layers = Counter(layer for stale in own for layer in stale.layers if layer in UNDATED)
        yield (
            f"{one.who}: {one.name} = {one.spellings[0]!r} stood in {len(own)} prompts"
            f" ({', '.join(f'{layer} {times}' for layer, times in layers.items())})"
            f" after {(turn.user if turn else '')[:90]!r}; a fact said otherwise in {sum(s.corrected for s in own)}"
        )


def _looked(month: Month, values: Sequence[Planted], one: Planted, prompt: Prompt) -> Stale:
    dated = [layer for layer, text in prompt.of(*DATED) if any(_places(_flat(text), each) for each in one.spellings)]
    layers = dict.fromkeys([*_current(month, one, prompt), *dated])
    facts = " ".join(_flat(text) for _, text in prompt.of("facts"))
    corrected = any(
        _places(facts, spelling) for each in _in_its_place(one, values, prompt.at) for spelling in each.spellings
    )
    return Stale(one, prompt.at, tuple(layers), corrected)


def _in_its_place(one: Planted, values: Sequence[Planted], at: datetime) -> list[Planted]:
    """What holds at that time where the value did."""
    same = [each for each in values if (each.who, each.name) == (one.who, one.name)]
    return [each for each in same if each.since <= at and not each.is_over(at)]


def _is_back(one: Planted, values: Sequence[Planted], at: datetime) -> bool:
    """Whether it was told again since, and holds."""
    return any(set(one.spellings) & set(each.spellings) for each in _in_its_place(one, values, at))


def _current(month: Month, one: Planted, prompt: Prompt) -> Iterator[Layer]:
    """The layers that tell it with nothing after it that says what ended it."""
    parts = [(layer, _flat(text)) for layer, text in prompt.of(*_TALK)]
    over = _over_until(month, one, prompt.at, "".join(text for _, text in parts))
    begins = 0
    for layer, text in parts:
        ends = [begins + place + len(_flat(said)) for said in one.spellings for place in _places(text, said)]
        if layer in UNDATED and any(end > over for end in ends):
            yield layer
        begins += len(text)


def _over_until(month: Month, one: Planted, at: datetime, text: str) -> int:
    """Where the last message ends that says what became of the value: what stands before is told as over."""
    ends = [
        place + _alike(text[place:], said)
        for turn in month.turns
        if turn.who == one.who and one.until is not None and one.until <= turn.at <= at
        and (one.name in turn.tells or one.name in turn.retracts)
        for said in [_flat(turn.user)]
        for place in _places(text, " ".join(said.split()[:_OPENING]))
    ]  # fmt: skip
    return max(ends, default=0)


def _places(text: str, wanted: str) -> list[int]:
    """Where the words stand in a flat text, one after another."""
    flat = _flat(wanted)
    if not flat.strip():
        return []
    places, place = [], text.find(flat)
    while place >= 0:
        places.append(place)
        place = text.find(flat, place + 1)
    return places


def _flat(text: str) -> str:
    return f" {' '.join(words(text))} "


def _alike(text: str, said: str) -> int:
    """How far the text goes on like what was said."""
    return len(list(takewhile(lambda both: both[0] == both[1], zip(text, said, strict=False))))
