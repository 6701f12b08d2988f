"""Two texts of a Pulse, statement by statement: what is new, what is gone, what is said otherwise. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from parlour.pulse.pulse import Statement

_MIN_SIMILARITY = 0.6
"""How much of the words two statements share that say the same thing otherwise."""


class ChangedStatement(NamedTuple):
    """A statement that says the same thing otherwise."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class TextDiff:
    """What became of the statements of an older text."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[ChangedStatement, ...]
    unchanged: tuple[str, ...]


def diff_statements(older: Sequence[Statement], newer: Sequence[Statement]) -> TextDiff:
    """Return the differences between two texts; a statement that only moved, or has other sources, is unchanged."""
    old, new = (list(dict.fromkeys(one.text for one in said)) for said in (older, newer))
    kept = [text for text in new if text in old]
    gone, come = [text for text in old if text not in kept], [text for text in new if text not in kept]
    changed = []
    for text in list(come):
        likeness, nearest = max(
            ((SequenceMatcher(None, one.split(), text.split(), autojunk=False).ratio(), one) for one in gone),
            default=(0.0, ""),
        )
        if likeness >= _MIN_SIMILARITY:
            changed.append(ChangedStatement(nearest, text))
            gone.remove(nearest)
            come.remove(text)
    return TextDiff(tuple(come), tuple(gone), tuple(changed), tuple(kept))
