"""Whether a reply used what its turn was told of what is remembered, by the words that it shares with it. Pure.

It is a rule of thumb that counts, and decides nothing by itself: a reply that heeds what it was told without saying it
(an answer in the user's language, say) is not seen.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from parlour.memory.recall.recall_rendering import EPISODE_TABLE, FACT_TABLE, item_content
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.text.similarity import containment
from parlour.text.words import stems

_MIN_FACT_SHARE = 0.5
"""The share of a value's telling words that a reply must have."""

_MIN_EPISODE_SHARE, _MIN_EPISODE_WORDS = 0.25, 3
"""The share of an episode's, and how many these must be at least: any two texts on one matter have some in common."""


@dataclass(frozen=True, slots=True)
class RecallUsage:
    """Something that is remembered and stood in a turn's prompts."""

    source: Source
    score: float
    is_used: bool


def recalled_items(entries: Iterable[LedgerEntry]) -> list[Item]:
    """Which of a prompt's candidates are facts and episodes that were in."""
    return [
        one.item
        for one in entries
        if one.item.kind in {SourceKind.FACTS, SourceKind.EPISODES}
        and one.reason is None
        and one.item.source.table in {FACT_TABLE, EPISODE_TABLE}
    ]


def measure_usage(items: Sequence[Item], reply: str, user_text: str) -> list[RecallUsage]:
    """Each with whether what was `said` (the reply, and what tools were asked) used it. Words that the user had just
    written themselves, `asked`, tell nothing."""
    spoken, given = stems(reply), stems(user_text)
    return [RecallUsage(one.source, one.score, _is_used(one, spoken, given)) for one in items]


def _is_used(item: Item, reply_stems: frozenset[str], user_stems: frozenset[str]) -> bool:
    own = stems(item_content(item)) - user_stems
    if not own:
        return False
    share = containment(own, reply_stems)
    if item.source.table == FACT_TABLE:
        return share >= _MIN_FACT_SHARE
    return len(own & reply_stems) >= min(_MIN_EPISODE_WORDS, len(own)) and share >= _MIN_EPISODE_SHARE
