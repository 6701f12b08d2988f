"""Queries of recall: read memory for turns, and count its use."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.facts.fact import MAX_LIVE_FACTS
from parlour.memory.recall import recall_rendering
from parlour.memory.recall.recall_rendering import RecalledEpisode
from parlour.memory.recall.recall_usage import RecallUsage
from parlour.search.index.context_rows import vector_literal
from parlour.search.index.embedders import Vector

SQL = Queries.for_module(__file__)

_MAX_QUERY_WORDS = 48
"""Different words of a question that are looked for."""

_WORD_SATURATION = 2.0
"""Words shared with a question that give half of what words can."""

_VECTOR_WEIGHT = 0.7
"""What nearness in meaning makes of an episode's score; the rest is by words."""

_RECENT_PERIOD = timedelta(minutes=15)
_MAX_RECENT_STATEMENTS = 6
"""What the user said elsewhere is told word for word for as long as extraction may take."""

_MIN_COSINE = 0.2
"""The cosine from which on an episode may be to the point without sharing a word of the question. A guess: eight
questions were looked at, with all-MiniLM-L6-v2, and what was meant (0.13 to 0.53) and the nearest of what was not (0.05
to 0.31) overlap, so that no number parts them. What is meant and lies below is told where it shares a word; what is not
and lies above takes a place that nothing better wants, and is the first to go."""

_BASE_WEIGHT, _AGE_WEIGHT, _USE_WEIGHT = 0.7, 0.15, 0.15
"""What of an episode's score does not depend on its age and on its use."""


@dataclass(frozen=True, slots=True)
class RecalledMemoryRow:
    """Memory for a turn.

    facts                      `{id, scope, key, value, confidence, relevance, score, holds_until, is_doubted,
                               is_asked}` each, best first.
    recent_statements          `{id, text}` each: what the user said elsewhere and no model has read, newest first.
    has_episodes               whether there are episodes to search.
    agent_state                the agent's notes, with `state_version`; None when there are none.
    withheld_summary_versions  summaries whose notes must be withheld now.
    visible_handles            records that the notes may still name.
    """

    facts: list[JsonObject] | None
    recent_statements: list[JsonObject] | None
    has_episodes: bool
    agent_state: JsonObject | None
    state_version: int | None
    withheld_summary_versions: list[int] | None
    visible_handles: list[str] | None


def recall_memory(
    tx: Transaction, session_id: UUID, query: str, max_facts: int, now: datetime
) -> RecalledMemoryRow | None:
    return tx.first(
        SQL["recall_memory"],
        RecalledMemoryRow,
        session_id=session_id,
        asked=query,
        most=max_facts,
        ranked=MAX_LIVE_FACTS,
        recent=now - _RECENT_PERIOD,
        statements=_MAX_RECENT_STATEMENTS,
        now=now,
        by_words=recall_rendering.WORD_WEIGHT,
        by_confidence=recall_rendering.CONFIDENCE_WEIGHT,
        by_age=recall_rendering.AGE_WEIGHT,
        by_use=recall_rendering.USE_WEIGHT,
        fades=recall_rendering.AGE_DECAY_SECONDS,
    )


@dataclass(frozen=True, slots=True)
class EpisodeQuery:
    """A question to episodes.

    vector               the question's, in the tenant's space. None: only words count.
    first_verbatim_turn  the first turn of the session that the prompt has word for word; 0: all of them.
    """

    text: str
    vector: Vector | None
    first_verbatim_turn: int
    limit: int


def find_episodes(
    tx: Transaction,
    session_id: UUID,
    query: EpisodeQuery,
    *,
    clearance: int,
    now: datetime,
) -> list[RecalledEpisode]:
    vector = query.vector
    return tx.all(
        SQL["find_episodes"],
        RecalledEpisode,
        session_id=session_id,
        query=query.text,
        vector=vector and vector_literal(vector.values),
        space=vector and vector.space,
        clearance=clearance,
        since=query.first_verbatim_turn,
        most=query.limit,
        now=now,
        longest=_MAX_QUERY_WORDS,
        telling=_WORD_SATURATION,
        meaning=_VECTOR_WEIGHT,
        least=_MIN_COSINE,
        plain=_BASE_WEIGHT,
        by_age=_AGE_WEIGHT,
        by_use=_USE_WEIGHT,
        fades=recall_rendering.AGE_DECAY_SECONDS,
    )


def add_recalls(tx: Transaction, turn_id: UUID, recalled: Sequence[RecallUsage], now: datetime) -> None:
    tx.run(
        SQL["add_recalls"],
        turn_id=turn_id,
        places=list(range(1, len(recalled) + 1)),
        facts=[_source_id(one, recall_rendering.FACT_TABLE) for one in recalled],
        episodes=[_source_id(one, recall_rendering.EPISODE_TABLE) for one in recalled],
        scores=[one.score for one in recalled],
        used=[one.is_used for one in recalled],
        now=now,
    )


def _source_id(usage: RecallUsage, table: str) -> UUID | None:
    return UUID(usage.source.id) if usage.source.table == table else None
