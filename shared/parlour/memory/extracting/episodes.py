"""Episodes as rows that are found again, and which of them say the same. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.knowledge.index.rows import RowDraft
from parlour.text.similarity import similarity
from parlour.text.words import stems

_ALIKE = 0.75
"""Of the telling words of both: from here on two episodes are one."""


@dataclass(frozen=True, slots=True)
class Kept:
    """An episode that there is."""

    id: UUID
    text: str


def row(text: str, title: str, until_at: datetime, classification: int) -> RowDraft:
    """`[date] text`, with the day on which it ended, in UTC."""
    date = until_at.astimezone(UTC).date().isoformat()
    lead = f"[{date}] "
    metadata: JsonObject = {"kind": "episode", "lead": len(lead), "date": date}
    return RowDraft("episode", 0, title, lead + text, classification, metadata)


def like(text: str, known: Sequence[Kept]) -> UUID | None:
    """The episode that says nearly the same in nearly the same words, if there is one. Different figures make different
    episodes."""
    best = max(known, key=lambda one: _shared(text, one.text), default=None)
    return best.id if best is not None and _shared(text, best.text) >= _ALIKE else None


def has_same_figures(one: str, other: str) -> bool:
    """Whether two episodes name the same figures: who paid 500 has not paid 900, however alike that sounds."""
    return _figures(one) == _figures(other)


def _figures(text: str) -> set[str]:
    return {stem for stem in stems(text) if any(map(str.isdigit, stem))}


def _shared(one: str, other: str) -> float:
    return similarity(stems(one), stems(other)) if has_same_figures(one, other) else 0.0
