"""Which items of a layer get in: the best first, whole, as long as they fit; every other one with its reason. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from parlour.context.ledger import Entry, Reason
from parlour.context.segment import Item, Source
from parlour.context.tokens import Meter
from parlour.text.similarity import containment
from parlour.text.words import key_terms, word_parts

LEAST_SCORE = 0.05
"""A recalled item below this score helps nobody; scores are between 0 and 1."""

_SAME = 0.8
"""Two texts say the same when the shorter shares this much of its runs of words with the longer."""

_COVERED = 0.8
"""A text is covered by the Pulse when this much of its telling words stand there."""

_RUN = 4


@dataclass(frozen=True, slots=True)
class Chosen:
    """Items that are in, in the order given, and an entry for every item."""

    items: tuple[Item, ...]
    entries: tuple[Entry, ...]
    tokens: int


def best(
    meter: Meter, items: Sequence[Item], room: int, most: int, *, between: int = 0, last: Collection[Item] = ()
) -> Chosen:
    """The items with the highest scores that fit `room` tokens, each taking `between` more for its separator.

    Those in `last` come after all others, whatever their scores. `most` is what they could have if nothing else were in
    the prompt: an item beyond that is too large for good. One that does not fit is taken in fewer words where it has
    such; smaller ones after it may still fit.
    """
    left, entries = room, []
    for item in sorted(items, key=lambda one: (one in last, -one.score)):
        entry = _taken(meter, item, left, most, between)
        entries.append(entry)
        left -= entry.tokens + between if entry.reason is None else 0
    return Chosen(tuple(one.item for one in entries if one.reason is None), tuple(entries), room - left)


def seen(items: Sequence[Item], clearance: int) -> tuple[list[Item], list[Entry]]:
    """Items that the reader may see, and entries for the others, whose words are not kept."""
    hidden = [
        Entry(replace(one, text="", shorter=(), title=""), 0, "clearance") for one in items if one.level > clearance
    ]
    return [one for one in items if one.level <= clearance], hidden


def worth(meter: Meter, items: Sequence[Item], least: float = LEAST_SCORE) -> tuple[list[Item], list[Entry]]:
    """Items that score enough to help, and entries for the others."""
    weak = [Entry(one, meter.count(one.text), "below_floor") for one in items if one.score < least]
    return [one for one in items if one.score >= least], weak


def distinct(
    meter: Meter, items: Sequence[Item], told: Sequence[str] = (), sources: Collection[Source] = ()
) -> tuple[list[Item], list[Entry]]:
    """Items that say something else than those with higher scores and than what is `told` already, and that come from
    none of the `sources` that are told word for word."""
    kept: list[Item] = []
    twice: list[Entry] = []
    runs = [_runs(text) for text in told]
    for item in sorted(items, key=lambda one: -one.score):
        own = _runs(item.text)
        if item.source in sources or any(_is_same(own, other) for other in runs if not own.isdisjoint(other)):
            twice.append(Entry(item, meter.count(item.text), "duplicate"))
        else:
            kept.append(item)
            runs.append(own)
    return kept, twice


def covered(items: Sequence[Item], pulse: str) -> frozenset[Item]:
    """The items that the Pulse speaks for: they come after all others, last but not lost."""
    told = key_terms(pulse)
    return frozenset(item for item in items if containment(key_terms(item.text), told) >= _COVERED)


def because_covered(entries: Sequence[Entry], covered: Collection[Item]) -> tuple[Entry, ...]:
    """Entries whose item had no room because the Pulse speaks for it say so."""
    reason: Reason = "covered_by_pulse"
    return tuple(
        replace(one, reason=reason) if one.reason == "over_budget" and one.item in covered else one for one in entries
    )


def _taken(meter: Meter, item: Item, left: int, most: int, between: int) -> Entry:
    full = meter.count(item.text)
    if full + between <= left:
        return Entry(item, full)
    for text in item.shorter:
        if (tokens := meter.count(text)) + between <= left:
            return Entry(replace(item, text=text, shorter=()), tokens, shortened=True)
    smallest = min([full, *map(meter.count, item.shorter)])
    return Entry(item, full, "too_large" if smallest + between > most else "over_budget")


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    plain = [part.casefold() for part in word_parts(text)]
    if len(plain) < _RUN:
        return frozenset([tuple(plain)]) if plain else frozenset()
    return frozenset(tuple(plain[place : place + _RUN]) for place in range(len(plain) - _RUN + 1))


def _is_same(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return containment(shorter, longer) >= _SAME
