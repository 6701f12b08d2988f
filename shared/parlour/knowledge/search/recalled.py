"""What was recalled of a conversation, and how a model is told. Pure."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from uuid import UUID

from parlour.knowledge.search.found import Found

MEANING = 0.6
"""What nearness in meaning makes of a score; the rest is by the words that question and message share."""

TELLING = 4.0
"""Words that tell as much as this give half of what words can: about what one word does that a single one of eighty
rows has that are compared, ln(1 + 79.5 / 1.5)."""

ANCHORS = 1
"""Anchors that are told beside the messages. One is as long as five of them and says of each but a line. Of what
answers a question 26.8 percent comes along so, and 24.9 where anchors are told in the place of messages that score
less; within 1,000 tokens 24.3 and 23.1 (102 questions to 22 meetings; bench/remembered.py)."""


@dataclass(frozen=True, slots=True)
class Recalled(Found):
    """A message of before; `score` is between 0 and 1. `elsewhere`: of another session of the same user.

    number       the session's number for it, if it had one; next_number: what the session would give next.
    """

    elsewhere: bool = False
    number: int | None = None
    next_number: int = 1


def expected(rows: Sequence[Recalled]) -> dict[UUID, int]:
    """The session's number for each row, by row id, if nobody else is given numbers meanwhile."""
    known = {row.row_id: row.number for row in rows if row.number is not None}
    unseen = [row.row_id for row in rows if row.number is None]
    return known | dict(zip(unseen, count(rows[0].next_number if rows else 1), strict=False))


def document(number: int, row: Found) -> str:
    """A message as models are told of it: one JSON document under the number by which a reply cites it."""
    metadata = " · ".join(str(row.metadata[name]) for name in ("date", "sender") if row.metadata.get(name))
    told = {"document": number, "title": row.title, "metadata": metadata, "contents": row.body}
    return json.dumps(told, ensure_ascii=False)
