"""Queries of extraction and consolidation: sessions, their unread turns, and episodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.memory.extraction.answer_check import NewEpisode
from parlour.memory.extraction.episodes import StoredEpisode
from parlour.memory.extraction.extraction_window import MessageLine
from parlour.memory.facts.fact import MemoryScope
from parlour.search.index.context_rows import RowDraft

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class TurnBacklog:
    """A session's unread turns after a turn ended: whether this turn is the first of them, and how many there are."""

    is_first: bool
    unread_turns: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many turns of a session extraction has not read, and how many attempts failed in a row."""

    turn_count: int
    failures: int


@dataclass(frozen=True, slots=True)
class ExtractionSession:
    """A session to extract from. `agent_name` is the agent's display name; `title` is for its rows."""

    user_id: UUID
    binding_id: UUID
    title: str
    agent_name: str
    user_name: str | None
    model_routing: JsonObject
    memory_policy: JsonObject
    classification: int
    extraction_cursor: int
    shared_until_turn: int

    @property
    def earlier_cursor(self) -> int:
        """The turn after which lines may be read so that unread ones are understood: one more, if nobody shared it."""
        return max(self.extraction_cursor - 1, self.shared_until_turn)

    @property
    def scope(self) -> MemoryScope:
        """The user and the binding whose memory the session writes."""
        return MemoryScope(self.user_id, self.binding_id)


@dataclass(frozen=True, slots=True)
class NextTurns:
    """Unread turns: how many, and the number of the last one."""

    turn_count: int
    last_turn: int


@dataclass(frozen=True, slots=True)
class SimilarEpisodes:
    """Two similar episodes with their texts."""

    newer_id: UUID
    older_id: UUID
    newer_text: str
    older_text: str


@dataclass(frozen=True, slots=True)
class EpisodeSourceRow:
    """The messages behind an episode, and the time of the last one."""

    message_ids: list[UUID]
    until_at: datetime


@dataclass(frozen=True, slots=True)
class SilentSession:
    """A session: since when it is silent, up to which turn it was consolidated, how many answered turns came after."""

    last_active_at: datetime
    consolidated_turn: int
    turn_count: int


@dataclass(frozen=True, slots=True)
class InterimEpisode:
    """An episode that was noted on the way."""

    id: UUID
    text: str
    recall_count: int
    use_count: int


def schedule_extraction(tx: Transaction, session_id: UUID, turn_number: int, due_at: datetime) -> TurnBacklog | None:
    """Make extraction due; return None when the session has other readers."""
    return tx.first(SQL["schedule_extraction"], TurnBacklog, session_id=session_id, number=turn_number, due_at=due_at)


def read_backlog(tx: Transaction, session_id: UUID) -> Backlog:
    """Return the backlog of a session that has due work."""
    return tx.one(SQL["read_backlog"], Backlog, session_id=session_id)


def find_session(tx: Transaction, session_id: UUID) -> ExtractionSession | None:
    """Return the session; None when it is gone or has other readers."""
    return tx.first(SQL["find_session"], ExtractionSession, session_id=session_id)


def find_next_turns(tx: Transaction, session_id: UUID, until_turn: int, limit: int) -> NextTurns | None:
    """Return the turns after `until_turn`, at most `limit`; None when there are none."""
    return tx.first(SQL["find_next_turns"], NextTurns, session_id=session_id, until_turn=until_turn, most=limit)


def read_lines(tx: Transaction, session_id: UUID, until_turn: int, last: int, clearance: int) -> list[MessageLine]:
    """Return the messages of the turns after `until_turn`, up to `last`, that the clearance may read."""
    return tx.all(
        SQL["read_lines"], MessageLine, session_id=session_id, until_turn=until_turn, last=last, clearance=clearance
    )


def advance_extraction_cursor(tx: Transaction, session_id: UUID, until_turn: int, now: datetime) -> None:
    tx.run(SQL["advance_extraction_cursor"], session_id=session_id, until_turn=until_turn, now=now)


def list_recent_episodes(tx: Transaction, scope: MemoryScope, limit: int) -> list[StoredEpisode]:
    return tx.all(
        SQL["list_recent_episodes"], StoredEpisode, user_id=scope.user_id, binding_id=scope.binding_id, most=limit
    )


def add_episode(
    tx: Transaction,
    scope: MemoryScope,
    session_id: UUID,
    episode: NewEpisode,
    row: RowDraft,
    ids: tuple[UUID, UUID],
    now: datetime,
) -> None:
    """Add an episode and its searchable row. ids: the episode's and the row's."""
    tx.run(
        SQL["add_episode"],
        id=ids[0],
        row_id=ids[1],
        user_id=scope.user_id,
        binding_id=scope.binding_id,
        session_id=session_id,
        title=row.title,
        content=row.content,
        content_hash=row.content_hash,
        classification=row.classification,
        metadata=row.metadata,
        text=episode.text,
        from_at=episode.from_at,
        until_at=episode.until_at,
        messages=list(episode.message_ids),
        origin=episode.origin,
        now=now,
    )


def merge_into_episode(tx: Transaction, episode_id: UUID, message_ids: Sequence[UUID], until_at: datetime) -> None:
    tx.run(SQL["merge_into_episode"], id=episode_id, messages=list(message_ids), until_at=until_at)


def find_similar_episodes(
    tx: Transaction, scope: MemoryScope, since: datetime, max_distance: float, limit: int
) -> list[SimilarEpisodes]:
    """Return pairs among the newest `limit` episodes whose vectors are nearer than `max_distance`."""
    return tx.all(
        SQL["find_similar_episodes"],
        SimilarEpisodes,
        user_id=scope.user_id,
        binding_id=scope.binding_id,
        since=since,
        near=max_distance,
        most=limit,
    )


def merge_episodes(tx: Transaction, newer_id: UUID, older_id: UUID) -> None:
    """Move the newer episode's messages to the older one, and delete the newer one."""
    of = tx.first(SQL["find_episode_sources"], EpisodeSourceRow, id=newer_id)
    if of is not None:
        merge_into_episode(tx, older_id, of.message_ids, of.until_at)
        tx.run(SQL["delete_episode"], id=newer_id)


def schedule_consolidation(tx: Transaction, session_id: UUID, silence_period: timedelta, min_turns: int) -> bool:
    """Return whether consolidation of the session is due at some time."""
    return tx.run(SQL["schedule_consolidation"], session_id=session_id, silent=silence_period, turns=min_turns) > 0


def find_silent_session(tx: Transaction, session_id: UUID) -> SilentSession | None:
    """Return the session; None when it is gone or has other readers."""
    return tx.first(SQL["find_silent_session"], SilentSession, session_id=session_id)


def find_window_end(tx: Transaction, session_id: UUID, after_turn: int, limit: int) -> int:
    """Return the number of the last turn of the next window; `after_turn` when no turn follows."""
    found: int | None = tx.value(SQL["find_window_end"], session_id=session_id, after=after_turn, most=limit)
    return found or after_turn


def list_interim_episodes(tx: Transaction, session_id: UUID, message_ids: Sequence[UUID]) -> list[InterimEpisode]:
    return tx.all(SQL["list_interim_episodes"], InterimEpisode, session_id=session_id, messages=list(message_ids))


def replace_interim_episodes(tx: Transaction, episode_id: UUID, interim_ids: Sequence[UUID]) -> None:
    tx.run(SQL["replace_interim_episodes"], episode_id=episode_id, ids=list(interim_ids))


def mark_consolidated(tx: Transaction, session_id: UUID, until_turn: int, now: datetime) -> None:
    tx.run(SQL["mark_consolidated"], session_id=session_id, until_turn=until_turn, now=now)
