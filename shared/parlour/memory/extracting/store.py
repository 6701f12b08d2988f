"""Conversations in the database, as they are looked through."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.index.rows import RowDraft
from parlour.memory.extracting.checked import Told
from parlour.memory.extracting.episodes import Kept
from parlour.memory.extracting.reading import Line
from parlour.memory.facts.fact import Origin, Scope

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Noted:
    """What a turn that is over means for a session: whether it is the first that nobody looked through, and how many
    there are of them."""

    is_first: bool
    behind: int


@dataclass(frozen=True, slots=True)
class Backlog:
    """How many turns of a session nobody looked through, and how many attempts at them failed in a row."""

    turns: int
    failures: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A session that is to be looked through. agent: how who answers there is called; title: of its rows."""

    user_id: UUID
    binding_id: UUID
    title: str
    agent: str
    person: str | None
    model_routing: JsonObject
    memory_policy: JsonObject
    classification: int
    until_turn: int

    @property
    def scope(self) -> Scope:
        """Whose memory it writes to."""
        return Scope(self.user_id, self.binding_id)


@dataclass(frozen=True, slots=True)
class NextTurns:
    """Turns that nobody looked through: how many, and the number of the last of them."""

    turns: int
    last: int


@dataclass(frozen=True, slots=True)
class Pair:
    """Two episodes that are alike, and what they tell."""

    young: UUID
    old: UUID
    told: str
    told_before: str


@dataclass(frozen=True, slots=True)
class Of:
    """What an episode was told of."""

    messages: list[UUID]
    until_at: datetime


def note_turn(tx: Transaction, session_id: UUID, number: int, due_at: datetime) -> Noted | None:
    """None where others read the session along."""
    return tx.first(SQL["note_turn"], Noted, session_id=session_id, number=number, due_at=due_at)


def backlog(tx: Transaction, session_id: UUID) -> Backlog:
    """Return what is to be looked through of a session with due work."""
    return tx.one(SQL["backlog"], Backlog, session_id=session_id)


def conversation(tx: Transaction, session_id: UUID) -> Conversation | None:
    """None when it is gone, or others read it along."""
    return tx.first(SQL["conversation"], Conversation, session_id=session_id)


def next_turns(tx: Transaction, session_id: UUID, until_turn: int, most: int) -> NextTurns | None:
    """The turns after `until_turn`, up to so many; None when there are none."""
    return tx.first(SQL["next_turns"], NextTurns, session_id=session_id, until_turn=until_turn, most=most)


def new_turns(tx: Transaction, session_id: UUID, until_turn: int, last: int, clearance: int) -> list[Line]:
    """The messages of the turns after `until_turn`, up to `last`, as far as the clearance reads them."""
    return tx.all(
        SQL["new_turns"], Line, session_id=session_id, until_turn=until_turn, last=last, clearance=clearance
    )  # fmt: skip


def note_extracted(tx: Transaction, session_id: UUID, until_turn: int, now: datetime) -> None:
    tx.run(SQL["note_extracted"], session_id=session_id, until_turn=until_turn, now=now)


def recent_episodes(tx: Transaction, scope: Scope, most: int) -> list[Kept]:
    return tx.all(SQL["recent_episodes"], Kept, user_id=scope.user_id, binding_id=scope.binding_id, most=most)


def insert_episode(
    tx: Transaction, scope: Scope, session_id: UUID, told: Told, row: RowDraft, ids: tuple[UUID, UUID], now: datetime,
    origin: Origin = "extracted",
) -> None:  # fmt: skip
    """`ids`: the episode's, and its row's."""
    tx.run(
        SQL["insert_episode"], id=ids[0], row_id=ids[1], user_id=scope.user_id, binding_id=scope.binding_id,
        session_id=session_id, title=row.title, content=row.content, content_hash=row.content_hash,
        classification=row.classification, metadata=row.metadata, text=told.text, from_at=told.from_at,
        until_at=told.until_at, messages=list(told.messages), origin=origin, now=now,
    )  # fmt: skip


def fold_episode(tx: Transaction, episode_id: UUID, messages: Sequence[UUID], until_at: datetime) -> None:
    tx.run(SQL["fold_episode"], id=episode_id, messages=list(messages), until_at=until_at)


def near_episodes(tx: Transaction, scope: Scope, since: datetime, near: float, most: int) -> list[Pair]:
    """Pairs among the newest `most`, by vectors that are nearer than `near`."""
    return tx.all(
        SQL["near_episodes"], Pair, user_id=scope.user_id, binding_id=scope.binding_id, since=since, near=near,
        most=most,
    )  # fmt: skip


def fold_into(tx: Transaction, young: UUID, old: UUID) -> None:
    """What the younger one was told of is the older one's from now on."""
    of = tx.first(SQL["messages_of_episode"], Of, id=young)
    if of is not None:
        fold_episode(tx, old, of.messages, of.until_at)
        tx.run(SQL["drop_episode"], id=young)
