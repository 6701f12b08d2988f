"""What is remembered in the database, as turns read it and count its use."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.embed import Vector
from parlour.knowledge.index.rows import literal
from parlour.memory.facts.fact import MOST_LIVE
from parlour.memory.recalling import told
from parlour.memory.recalling.told import Episode
from parlour.memory.recalling.used import Told

SQL = Queries.beside(__file__)

_LONGEST = 48
"""Different words of a question that are looked for."""

_TELLING = 2.0
"""Words shared with a question that give half of what words can."""

_MEANING = 0.7
"""What nearness in meaning makes of an episode's score; the rest is by words."""

_LEAST = 0.2
"""The cosine from which on an episode may be to the point without sharing a word of the question. A guess: eight
questions were looked at, with all-MiniLM-L6-v2, and what was meant (0.13 to 0.53) and the nearest of what was not (0.05
to 0.31) overlap, so that no number parts them. What is meant and lies below is told where it shares a word; what is not
and lies above takes a place that nothing better wants, and is the first to go."""

_PLAIN, _BY_AGE, _BY_USE = 0.7, 0.15, 0.15
"""What of an episode's score does not depend on its age and on its use."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What a turn may be told of at once.

    facts         each {id, scope, key, value, confidence, relevance, score}, the best first.
    has_episodes  there are some to look through.
    state         the agent's notes, `version` their version; None where there are none.
    closed        versions of summaries that the notes came with and that are not to be told any more.
    seen          the records that the notes may still name, by handle.
    """

    facts: list[JsonObject] | None
    has_episodes: bool
    state: JsonObject | None
    version: int | None
    closed: list[int] | None
    seen: list[str] | None


def remembered(tx: Transaction, session_id: UUID, asked: str, most: int, now: datetime) -> Remembered | None:
    return tx.first(
        SQL["remembered"], Remembered,
        session_id=session_id, asked=asked, most=most, ranked=MOST_LIVE, now=now, by_words=told.BY_WORDS,
        by_confidence=told.BY_CONFIDENCE, by_age=told.BY_AGE, by_use=told.BY_USE, fades=told.FADES_SECONDS,
    )  # fmt: skip


def episodes(
    tx: Transaction, session_id: UUID, query: str, vector: Vector | None, *, clearance: int, since: int, most: int,
    now: datetime,
) -> list[Episode]:  # fmt: skip
    return tx.all(
        SQL["recalled_episodes"], Episode,
        session_id=session_id, query=query, vector=vector and literal(vector.values), space=vector and vector.space,
        clearance=clearance, since=since, most=most, now=now, longest=_LONGEST, telling=_TELLING,
        meaning=_MEANING, least=_LEAST, plain=_PLAIN, by_age=_BY_AGE, by_use=_BY_USE, fades=told.FADES_SECONDS,
    )  # fmt: skip


def note_recalled(tx: Transaction, turn_id: UUID, found: Sequence[Told], now: datetime) -> None:
    tx.run(
        SQL["note_recalled"],
        turn_id=turn_id, places=list(range(1, len(found) + 1)), facts=[_id(one, told.FACTS) for one in found],
        episodes=[_id(one, told.EPISODES) for one in found], scores=[one.score for one in found],
        used=[one.used for one in found], now=now,
    )  # fmt: skip


def _id(one: Told, table: str) -> UUID | None:
    return UUID(one.source.id) if one.source.table == table else None
