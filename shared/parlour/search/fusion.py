"""From what the lists say of rows to one order of them. Pure.

The statement merges its lists by reciprocal rank; here a row gains by who says it and by what stands around it, and
loses by repeating what a better one has said already. Where the numbers come from: docs/decisions/0025-search.md.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from parlour.search.results import SearchResult
from parlour.text.similarity import jaccard_similarity
from parlour.text.words import word_parts

RRF_K = 5
"""Of reciprocal rank fusion, 1 / (K + place)."""

KEYWORD_WEIGHT = 0.6
"""What a place among the rows with the question's words counts beside the same place among the nearest, outside of
conversations: a question has common words ("per day", "late") that the wrong clause has as well."""

LIST_DEPTH = 60
"""Rows that each list hands to the merge, and the merge to this file."""

KEYWORD_POOL = 400
"""Rows with a word of the question that are weighed word by word."""

MAX_QUERY_WORDS = 48
"""Different words of a question that are looked for; a question with the turn before it seldom has thirty."""

PRECEDING_TURN_WEIGHTS, FOLLOWING_TURN_WEIGHTS = (0.5, 0.2), (0.2, 0.1)
"""How much of a turn's likeness to the question are the turn before it (often the question that it answers) and the
one before that, and the two after it."""

_SPEAKER_BONUS = 0.3
"""What a turn gains when the question names who said it."""

_NEIGHBOUR_SHARES = {1: 0.3, 2: 0.1}
"""The part of its score that a turn adds to the turns so many places away."""

_SAME_DOCUMENT_FACTOR = 0.9
"""What is left of a score with every better row of the same document: six pieces of one contract seldom answer six
times as well, and sometimes the second one does."""

_DELTA_FACTOR = 0.5
"""What a change of a record is worth beside the record itself, which says what holds now: every change has the record's
name, and that somebody created it or linked it answers few questions."""

_DUPLICATE_SIMILARITY = 0.9
"""Two texts that share this part of their words say the same; the better placed one stays."""

_MIN_DUPLICATE_WORDS = 5
"""A shorter text is not one that repeats another: two people may both say yes."""


@dataclass(frozen=True, slots=True)
class PositionedResult(SearchResult):
    """A row with its place in its document or conversation."""

    position: int = 0


def fuse(rows: Sequence[PositionedResult], query: str, limit: int) -> list[SearchResult]:
    """Return the best rows, best first; `query` is the question in the reader's own words."""
    speakers = {_speaker(row) for row in rows if row.session_id}
    words = query.casefold()
    named = {
        name
        for name in speakers
        if name
        and any(
            (re.search(rf"\b{re.escape(part.casefold())}\b", words) is not None) for part in (name, name.split()[0])
        )
    }
    scores = {row.row_id: row.score * (1 + _SPEAKER_BONUS * (_speaker(row) in named)) for row in rows}
    scores = _rank_records_before_deltas(rows, _add_neighbour_shares(rows, scores))
    ordered = sorted(rows, key=lambda row: (-scores[row.row_id], row.row_id))
    return _diversify([replace(row, score=scores[row.row_id]) for row in ordered], limit)


def _speaker(row: SearchResult) -> str:
    return str(row.metadata.get("sender") or "")


def _add_neighbour_shares(rows: Sequence[PositionedResult], scores: Mapping[UUID, float]) -> dict[UUID, float]:
    """Each turn of a conversation with a part of what the turns around it have."""
    at = {(row.session_id, row.position): scores[row.row_id] for row in rows if row.session_id}

    def score_at(row: PositionedResult, step: int) -> float:
        return at.get((row.session_id, row.position + step), 0.0) if row.session_id else 0.0

    def lent(row: PositionedResult) -> float:
        return sum(part * (score_at(row, -away) + score_at(row, away)) for away, part in _NEIGHBOUR_SHARES.items())

    return {row.row_id: scores[row.row_id] + lent(row) for row in rows}


def _rank_records_before_deltas(rows: Sequence[PositionedResult], scores: Mapping[UUID, float]) -> dict[UUID, float]:
    """Rank a record as high as the best of its changes, and these after it; other changes stay."""
    found = {row.entity_id: row.row_id for row in rows if row.kind == "snapshot"}
    moved = dict(scores)
    for row in rows:
        record = found.get(row.entity_id) if row.kind == "delta" else None
        if record:
            moved[record] = max(moved[record], scores[row.row_id])
            moved[row.row_id] = scores[row.row_id] * _DELTA_FACTOR
    return moved


def _diversify(rows: Sequence[PositionedResult], most: int) -> list[SearchResult]:
    """Return the rows without those that repeat a better one; further rows of one document rank lower."""
    kept: list[SearchResult] = []
    texts: list[frozenset[str]] = []
    times: Counter[UUID] = Counter()
    for row in rows:
        words = frozenset(word_parts(row.body.casefold()))
        if len(words) >= _MIN_DUPLICATE_WORDS and any(
            jaccard_similarity(words, others) >= _DUPLICATE_SIMILARITY for others in texts
        ):
            continue
        texts.append(words)
        owner = row.document_id or row.file_id
        score = row.score * (_SAME_DOCUMENT_FACTOR ** times[owner] if owner else 1)
        times.update([owner] if owner else [])
        kept.append(replace(row, score=score))
    kept.sort(key=lambda row: (-row.score, row.row_id))
    return kept[:most]
