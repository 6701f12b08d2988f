"""Summaries in the database: the named queries, and the records they read and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.rows import RowDraft
from parlour.memory.summary.telling import Telling

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session as its summary is written.

    speaker   what the agent is called; classification: what its user may see at most.
    anchored  messages that its `anchors` cover.
    """

    user_id: UUID
    binding_id: UUID
    title: str
    speaker: str
    classification: int
    anchors: int
    anchored: int


@dataclass(frozen=True, slots=True)
class BaseRow:
    """The summary that the next one goes on from. messages: how many it stands for."""

    version: int
    until_turn: int
    text: str
    messages: int


NO_BASE = BaseRow(0, 0, "", 0)


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn with what was said in it: {"id", "ours", "body", "sent_at"}."""

    id: UUID
    number: int
    is_closed: bool
    is_drawn: bool
    messages: list[JsonObject]


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A version to be kept. base: the version that it goes on from; turns: those that it takes in; told: those of them
    whose replies it was written from; is_passed: nobody would tell of them."""

    base: int
    until: int
    text: str
    kept: Sequence[UUID]
    dropped: Sequence[UUID]
    messages: int
    turns: Sequence[UUID]
    told: Sequence[UUID]
    is_passed: bool
    provider: str
    model: str
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class Line:
    """Something that must survive, and where it was said."""

    id: UUID
    message_id: UUID
    turn: int
    ours: bool
    telling: Telling


@dataclass(frozen=True, slots=True)
class LineRow:
    """Something that must survive, as it is kept."""

    id: UUID
    kind: str
    value: str
    untold: bool


@dataclass(frozen=True, slots=True)
class LostRow:
    """A line that the newest summary does not say."""

    text: str


def want(tx: Transaction, session_id: UUID, due_at: datetime) -> bool:
    """False when it is wanted already."""
    return tx.run(SQL["want_summary"], session_id=session_id, due_at=due_at) > 0


def session(tx: Transaction, session_id: UUID) -> SessionRow | None:
    return tx.first(SQL["summarised_session"], SessionRow, session_id=session_id)


def base(tx: Transaction, session_id: UUID, clearance: int, *, words: bool) -> BaseRow:
    found = tx.first(SQL["base_summary"], BaseRow, session_id=session_id, clearance=clearance, words=words)
    return found or NO_BASE


def turns_after(tx: Transaction, session_id: UUID, after: int, clearance: int, most: int) -> list[TurnRow]:
    return tx.all(
        SQL["turns_after"], TurnRow, session_id=session_id, after=after, clearance=clearance, most=most
    )  # fmt: skip


def keep(tx: Transaction, session_id: UUID, new: NewSummary, now: datetime) -> int | None:
    """The version that it is; None where something that it tells of was deleted meanwhile."""
    version: int | None = tx.value(
        SQL["keep_summary"], session_id=session_id, base=new.base, until=new.until, text=new.text,
        kept=list(new.kept), dropped=list(new.dropped), messages=new.messages, turns=list(new.told),
        is_passed=new.is_passed, provider=new.provider, model=new.model, cost_usd=new.cost_usd, now=now,
    )  # fmt: skip
    return version


def keep_lines(tx: Transaction, session_id: UUID, lines: Sequence[Line], now: datetime) -> None:
    tx.run_many(
        SQL["keep_line"],
        [
            {"id": one.id, "session_id": session_id, "message_id": one.message_id, "turn": one.turn, "ours": one.ours,
             "kind": one.telling.kind, "value": one.telling.value, "text": one.telling.text, "now": now}
            for one in lines
        ],
    )  # fmt: skip


def newest_lines(tx: Transaction, session_id: UUID, most: int) -> list[LineRow]:
    return tx.all(SQL["newest_lines"], LineRow, session_id=session_id, most=most)


def lost_lines(tx: Transaction, session_id: UUID, most: int) -> list[str]:
    """Of its user, what was said last first."""
    return [one.text for one in tx.all(SQL["lost_lines"], LostRow, session_id=session_id, most=most)]


def note_told(tx: Transaction, ids: Sequence[UUID]) -> None:
    """These lines are told now, where they were not, and the other way round."""
    tx.run(SQL["note_told"], ids=list(ids))


def anchored_until(tx: Transaction, session_id: UUID) -> int:
    until: int | None = tx.value(SQL["anchored_until"], session_id=session_id)
    return until or 0


def add_anchor(tx: Transaction, row_id: UUID, session_id: UUID, draft: RowDraft, now: datetime) -> None:
    tx.run(
        SQL["add_anchor"], id=row_id, session_id=session_id, ordinal=draft.ordinal, title=draft.title,
        content=draft.content, content_hash=draft.content_hash, classification=draft.classification,
        metadata=draft.metadata, now=now,
    )  # fmt: skip


def note_anchored(tx: Transaction, session_id: UUID, anchors: int, anchored: int) -> None:
    tx.run(SQL["note_anchored"], session_id=session_id, anchors=anchors, anchored=anchored)
