"""Episodes as context rows, and which of them say the same. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.search.index.context_rows import RowDraft
from parlour.text.similarity import jaccard_similarity
from parlour.text.words import stems

#: Jaccard similarity of their stems from which on two episodes are one.
_MIN_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """An episode in the database."""

    id: UUID
    text: str


def context_row(text: str, title: str, until_at: datetime, classification: int) -> RowDraft:
    """Return the episode's context row: `[date] text`, with the UTC day on which it ended."""
    date = until_at.astimezone(UTC).date().isoformat()
    prefix = f"[{date}] "
    metadata: JsonObject = {"kind": "episode", "prefix_length": len(prefix), "date": date}
    return RowDraft("episode", 0, title, prefix + text, classification, metadata)


def find_similar(text: str, stored_episodes: Sequence[StoredEpisode]) -> UUID | None:
    """Return the episode that says nearly the same in nearly the same words, if any.

    Episodes with different figures are different.
    """
    best = max(stored_episodes, key=lambda episode: _similarity(text, episode.text), default=None)
    return best.id if best is not None and _similarity(text, best.text) >= _MIN_SIMILARITY else None


def has_same_figures(first: str, second: str) -> bool:
    """Return whether two episodes name the same figures: "paid 500" is not "paid 900"."""
    return _figure_stems(first) == _figure_stems(second)


def _figure_stems(text: str) -> set[str]:
    return {stem for stem in stems(text) if any(map(str.isdigit, stem))}


def _similarity(first: str, second: str) -> float:
    return jaccard_similarity(stems(first), stems(second)) if has_same_figures(first, second) else 0.0
