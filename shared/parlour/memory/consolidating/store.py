"""Silent conversations in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Silent:
    """A session: since when it is silent, up to which turn it was consolidated, how many answered turns came after."""

    last_active_at: datetime
    consolidated_turn: int
    turns: int


@dataclass(frozen=True, slots=True)
class Note:
    """An episode that was noted on the way."""

    id: UUID
    text: str
    recalled: int
    used: int


def note_silence(tx: Transaction, session_id: UUID, silent: timedelta, turns: int) -> bool:
    """Whether somebody will look at the session."""
    return tx.run(SQL["note_silence"], session_id=session_id, silent=silent, turns=turns) > 0


def silent(tx: Transaction, session_id: UUID) -> Silent | None:
    """None when it is gone, or others read it along."""
    return tx.first(SQL["silent"], Silent, session_id=session_id)


def stretch_end(tx: Transaction, session_id: UUID, after: int, most: int) -> int:
    """`after` itself where no turn follows."""
    found: int | None = tx.value(SQL["stretch_end"], session_id=session_id, after=after, most=most)
    return found or after


def notes(tx: Transaction, session_id: UUID, messages: Sequence[UUID]) -> list[Note]:
    return tx.all(SQL["notes"], Note, session_id=session_id, messages=list(messages))


def fold_notes(tx: Transaction, episode_id: UUID, ids: Sequence[UUID]) -> None:
    tx.run(SQL["fold_notes"], episode_id=episode_id, ids=list(ids))


def note_consolidated(tx: Transaction, session_id: UUID, until_turn: int, now: datetime) -> None:
    tx.run(SQL["note_consolidated"], session_id=session_id, until_turn=until_turn, now=now)
