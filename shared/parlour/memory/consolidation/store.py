"""Silent conversations in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


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


def schedule_consolidation(tx: Transaction, session_id: UUID, silence_period: timedelta, min_turns: int) -> bool:
    """Whether somebody will look at the session."""
    return tx.run(SQL["schedule_consolidation"], session_id=session_id, silent=silence_period, turns=min_turns) > 0


def find_silent_session(tx: Transaction, session_id: UUID) -> SilentSession | None:
    """None when it is gone, or others read it along."""
    return tx.first(SQL["find_silent_session"], SilentSession, session_id=session_id)


def find_window_end(tx: Transaction, session_id: UUID, after_turn: int, limit: int) -> int:
    """`after` itself where no turn follows."""
    found: int | None = tx.value(SQL["find_window_end"], session_id=session_id, after=after_turn, most=limit)
    return found or after_turn


def list_interim_episodes(tx: Transaction, session_id: UUID, message_ids: Sequence[UUID]) -> list[InterimEpisode]:
    return tx.all(SQL["list_interim_episodes"], InterimEpisode, session_id=session_id, messages=list(message_ids))


def merge_into_episode(tx: Transaction, episode_id: UUID, merged_ids: Sequence[UUID]) -> None:
    tx.run(SQL["merge_into_episode"], episode_id=episode_id, ids=list(merged_ids))


def mark_consolidated(tx: Transaction, session_id: UUID, until_turn: int, now: datetime) -> None:
    tx.run(SQL["mark_consolidated"], session_id=session_id, until_turn=until_turn, now=now)
