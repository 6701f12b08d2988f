"""Whether a reply used what its turn was told of what is remembered, by the words that it shares with it. Pure.

It is a rule of thumb that counts, and decides nothing by itself: a reply that heeds what it was told without saying it
(an answer in the user's language, say) is not seen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parlour.context.ledger import Entry
from parlour.context.segment import Item, Lot, Source
from parlour.memory.recalling.told import FACTS, words_of
from parlour.text.similarity import containment
from parlour.text.words import stems

_OF_A_FACT = 0.5
"""The share of a value's telling words that a reply must have."""

_OF_AN_EPISODE, _WORDS_OF_AN_EPISODE = 0.25, 3
"""The share of an episode's, and how many these must be at least: any two texts on one matter have some in common."""


@dataclass(frozen=True, slots=True)
class Told:
    """Something that is remembered and stood in a turn's prompts."""

    source: Source
    score: float
    used: bool


def told(entries: Iterable[Entry]) -> list[Item]:
    """Which of a prompt's candidates are facts and episodes that were in."""
    return [one.item for one in entries if one.item.lot in {Lot.FACTS, Lot.EPISODES} and one.reason is None]


def judged(items: Sequence[Item], said: str, asked: str) -> list[Told]:
    """Each with whether what was `said` (the reply, and what tools were asked) used it. Words that the user had just
    written themselves, `asked`, tell nothing."""
    spoken, given = stems(said), stems(asked)
    return [Told(one.source, one.score, _is_used(one, spoken, given)) for one in items]


def _is_used(item: Item, spoken: frozenset[str], given: frozenset[str]) -> bool:
    own = stems(words_of(item)) - given
    if not own:
        return False
    share = containment(own, spoken)
    if item.source.table == FACTS:
        return share >= _OF_A_FACT
    return len(own & spoken) >= min(_WORDS_OF_AN_EPISODE, len(own)) and share >= _OF_AN_EPISODE
