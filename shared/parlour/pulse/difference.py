"""Two texts of a Pulse, statement by statement: what is new, what is gone, what is said otherwise. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from parlour.infra.jsonable import Json, JsonObject
from parlour.pulse.pulse import Statement

_ALIKE = 0.6
"""How much of the words two statements share that say the same thing otherwise."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What became of the statements of an older text; `changed` are pairs, before and after."""

    added: tuple[str, ...]
    removed: tuple[str, ...]
    changed: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]

    def to_json(self) -> JsonObject:
        """As the API tells it."""
        changed: list[Json] = [{"before": before, "after": after} for before, after in self.changed]
        return {"added": [*self.added], "removed": [*self.removed], "changed": changed, "kept": [*self.kept]}


def difference(before: Sequence[Statement], after: Sequence[Statement]) -> Difference:
    """What is different between two texts; a statement that only moved, or has other sources, is kept."""
    old, new = (list(dict.fromkeys(one.text for one in said)) for said in (before, after))
    kept = [text for text in new if text in old]
    gone, come = [text for text in old if text not in kept], [text for text in new if text not in kept]
    changed = []
    for text in list(come):
        likeness, nearest = max(((_likeness(one, text), one) for one in gone), default=(0.0, ""))
        if likeness >= _ALIKE:
            changed.append((nearest, text))
            gone.remove(nearest)
            come.remove(text)
    return Difference(tuple(come), tuple(gone), tuple(changed), tuple(kept))


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one.split(), other.split(), autojunk=False).ratio()
