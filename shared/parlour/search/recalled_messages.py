"""What was recalled of a conversation, and how a model is told. Pure."""

import json
from dataclasses import dataclass

from parlour.search.results import SearchResult

VECTOR_WEIGHT = 0.6
"""What nearness in meaning makes of a score; the rest is by the words that question and message share."""

KEYWORD_HALF_SCORE = 4.0
"""Words that tell as much as this give half of what words can: about what one word does that a single one of eighty
rows has that are compared, ln(1 + 79.5 / 1.5)."""

MAX_ANCHORS = 1
"""Anchors that are told beside the messages. One is as long as five of them and says of each but a line. Of what
answers a question 26.8 percent comes along so, and 24.9 where anchors are told in the place of messages that score
less; within 1,000 tokens 24.3 and 23.1 (102 questions to 22 meetings; bench/memory_retrieval.py)."""


@dataclass(frozen=True, slots=True)
class RecalledMessage(SearchResult):
    """A message of before; `score` is between 0 and 1. `elsewhere`: of another session of the same user."""

    is_from_other_session: bool = False


def render_message(row: SearchResult) -> str:
    """Return a message as models read it: who wrote it, when, in which conversation, and its words as a JSON string.

    It has no number: what a user wrote is no source of a reply.
    """
    written = ", ".join(str(row.metadata[name]) for name in ("sender", "date") if row.metadata.get(name))
    origin = f"{written} ({row.title})" if written and row.title else written or row.title
    return f"{origin}: {json.dumps(row.body, ensure_ascii=False)}"
