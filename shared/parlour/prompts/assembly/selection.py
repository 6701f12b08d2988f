"""Which items of a layer get in: the best first, whole, as long as they fit; every other one with its reason. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from parlour.prompts.assembly.ledger_entries import LedgerEntry, OmissionReason
from parlour.prompts.assembly.segment import Item, Source
from parlour.text.similarity import containment
from parlour.text.token_counter import TokenCounter
from parlour.text.words import key_terms, word_parts

MIN_SCORE = 0.05
"""A recalled item below this score helps nobody; scores are between 0 and 1."""

_DUPLICATE_SHARE = 0.8
"""Two texts say the same when the shorter shares this much of its runs of words with the longer."""

_COVERED_SHARE = 0.8
"""A text is covered by the Pulse when this much of its telling words stand there."""

_SHINGLE_WORDS = 4


@dataclass(frozen=True, slots=True)
class Selection:
    """Items that are in, in the order given, and an entry for every item."""

    items: tuple[Item, ...]
    entries: tuple[LedgerEntry, ...]
    tokens: int


def select_best(
    counter: TokenCounter,
    items: Sequence[Item],
    available_tokens: int,
    max_tokens: int,
    *,
    separator_tokens: int = 0,
    ranked_last: Collection[Item] = (),
) -> Selection:
    """Return the items with the highest scores that fit `available_tokens`, each with `separator_tokens` more.

    Items in `ranked_last` come after all others, whatever their scores. `max_tokens` is what they could have if nothing
    else were in the prompt: an item beyond that never fits. One that does not fit is taken in fewer words where it has
    such; smaller ones after it may still fit.
    """
    left, entries = available_tokens, []
    for item in sorted(items, key=lambda one: (one in ranked_last, -one.score)):
        entry = _entry_for(counter, item, left, max_tokens, separator_tokens)
        entries.append(entry)
        left -= entry.tokens + separator_tokens if entry.reason is None else 0
    return Selection(tuple(one.item for one in entries if one.reason is None), tuple(entries), available_tokens - left)


def filter_by_clearance(items: Sequence[Item], clearance: int) -> tuple[list[Item], list[LedgerEntry]]:
    """Items that the reader may see, and entries for the others, whose words are not kept."""
    hidden = [
        LedgerEntry(replace(one, text="", shorter_texts=(), title=""), 0, "clearance")
        for one in items
        if one.classification > clearance
    ]
    return [one for one in items if one.classification <= clearance], hidden


def filter_by_score(
    counter: TokenCounter, items: Sequence[Item], min_score: float = MIN_SCORE
) -> tuple[list[Item], list[LedgerEntry]]:
    """Items that score enough to help, and entries for the others."""
    weak = [LedgerEntry(one, counter.count(one.text), "below_floor") for one in items if one.score < min_score]
    return [one for one in items if one.score >= min_score], weak


def deduplicate(
    counter: TokenCounter,
    items: Sequence[Item],
    known_texts: Sequence[str] = (),
    verbatim_sources: Collection[Source] = (),
) -> tuple[list[Item], list[LedgerEntry]]:
    """Items that say something else than those with higher scores and than what is `told` already, and that come from
    none of the `sources` that are told word for word."""
    kept: list[Item] = []
    twice: list[LedgerEntry] = []
    runs = [_shingles(text) for text in known_texts]
    for item in sorted(items, key=lambda one: -one.score):
        own = _shingles(item.text)
        if item.source in verbatim_sources or any(
            _is_duplicate(own, other) for other in runs if not own.isdisjoint(other)
        ):
            twice.append(LedgerEntry(item, counter.count(item.text), "duplicate"))
        else:
            kept.append(item)
            runs.append(own)
    return kept, twice


def find_covered_by_pulse(items: Sequence[Item], pulse: str) -> frozenset[Item]:
    """Return the items that the Pulse covers: they come after all others."""
    told = key_terms(pulse)
    return frozenset(item for item in items if containment(key_terms(item.text), told) >= _COVERED_SHARE)


def mark_covered_by_pulse(entries: Sequence[LedgerEntry], covered: Collection[Item]) -> tuple[LedgerEntry, ...]:
    """Entries whose item had no room because the Pulse speaks for it say so."""
    reason: OmissionReason = "covered_by_pulse"
    return tuple(
        replace(one, reason=reason) if one.reason == "over_budget" and one.item in covered else one for one in entries
    )


def _entry_for(counter: TokenCounter, item: Item, left: int, most: int, between: int) -> LedgerEntry:
    full = counter.count(item.text)
    if full + between <= left:
        return LedgerEntry(item, full)
    for text in item.shorter_texts:
        if (tokens := counter.count(text)) + between <= left:
            return LedgerEntry(replace(item, text=text, shorter_texts=()), tokens, is_shortened=True)
    smallest = min([full, *map(counter.count, item.shorter_texts)])
    return LedgerEntry(item, full, "too_large" if smallest + between > most else "over_budget")


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    plain = [part.casefold() for part in word_parts(text)]
    if len(plain) < _SHINGLE_WORDS:
        return frozenset([tuple(plain)]) if plain else frozenset()
    return frozenset(tuple(plain[place : place + _SHINGLE_WORDS]) for place in range(len(plain) - _SHINGLE_WORDS + 1))


def _is_duplicate(one: frozenset[tuple[str, ...]], other: frozenset[tuple[str, ...]]) -> bool:
    shorter, longer = sorted((one, other), key=len)
    return containment(shorter, longer) >= _DUPLICATE_SHARE
