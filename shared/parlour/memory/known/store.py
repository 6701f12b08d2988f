"""Memory as people read it, in the database."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)

_LETTERS = 400
"""Of a message that a fact was taken from, that are shown."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user in a list. digits: the last of their number; facts, episodes: how many are known."""

    id: UUID
    display_name: str | None
    digits: str | None
    sessions: int
    last_active_at: datetime
    channels: list[str] | None
    facts: int
    episodes: int


@dataclass(frozen=True, slots=True)
class OnePerson:
    """A user by themselves."""

    id: UUID
    display_name: str | None
    digits: str | None
    created_at: datetime
    channels: list[str] | None


@dataclass(frozen=True, slots=True)
class FactRow:
    """A live fact of a user.

    said     the user's own words that it was taken from: {id, session_id, at, channel, text, is_archived}.
    earlier  what it said before, the latest first: {id, value, from, until, ended}.
    """

    id: UUID
    key: str
    value: str
    confidence: float
    origin: str
    edited_by: str | None
    valid_from: datetime
    sure_at: datetime
    recalled: int
    used: int
    last_used_at: datetime | None
    session_id: UUID | None
    binding_id: UUID
    binding: str
    agent: str
    said: list[JsonObject]
    earlier: list[JsonObject]


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """What came of a stretch of a conversation; folded: how many more said nearly the same."""

    id: UUID
    text: str
    from_at: datetime
    until_at: datetime
    folded: int
    recalled: int
    used: int
    session_id: UUID
    binding_id: UUID
    binding: str
    agent: str


@dataclass(frozen=True, slots=True)
class CommonFact:
    """A fact of a whole persona or team; whose: its name."""

    id: UUID
    scope: str
    whose: str
    key: str
    value: str
    confidence: float
    origin: str
    valid_from: datetime
    sure_at: datetime
    recalled: int
    used: int


@dataclass(frozen=True, slots=True)
class Id:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Held:
    """A live fact that is held to be put right."""

    id: UUID
    scope: str
    key: str
    value: str
    user_id: UUID | None
    binding_id: UUID | None


def users(tx: Transaction, text: str, clearance: int, most: int) -> list[Person]:
    return tx.all(SQL["known_users"], Person, text=text, clearance=clearance, most=most)


def user(tx: Transaction, user_id: UUID, clearance: int) -> OnePerson | None:
    return tx.first(SQL["known_user"], OnePerson, user_id=user_id, clearance=clearance)


def facts(
    tx: Transaction, user_id: UUID, binding_id: UUID | None, *, is_own: bool, clearance: int, most: int
) -> list[FactRow]:
    values = {"user_id": user_id, "binding_id": binding_id, "is_own": is_own, "clearance": clearance, "most": most}
    return tx.all(SQL["known_facts"], FactRow, letters=_LETTERS, **values)


def episodes(
    tx: Transaction, user_id: UUID, binding_id: UUID | None, *, is_own: bool, clearance: int, most: int
) -> list[EpisodeRow]:
    values = {"user_id": user_id, "binding_id": binding_id, "is_own": is_own, "clearance": clearance, "most": most}
    return tx.all(SQL["known_episodes"], EpisodeRow, **values)


def common(tx: Transaction, most: int) -> list[CommonFact]:
    return tx.all(SQL["common_facts"], CommonFact, most=most)


def fact_of(
    tx: Transaction, fact_id: UUID, *, user_id: UUID | None, binding_id: UUID | None, clearance: int
) -> Held | None:
    """One of that user's with that binding; without a user any that the clearance covers."""
    values = {"user_id": user_id, "binding_id": binding_id, "clearance": clearance}
    return tx.first(SQL["fact_of"], Held, fact_id=fact_id, **values)


def earlier(tx: Transaction, fact_id: UUID) -> list[UUID]:
    """What stood under the fact's key before it."""
    return [row.id for row in tx.all(SQL["earlier_values"], Id, fact_id=fact_id)]


def edit(
    tx: Transaction, fact_id: UUID, value: str, *, edited_by: str, new_id: UUID, decision_id: UUID, now: datetime
) -> None:
    ids = {"fact_id": fact_id, "new_id": new_id, "decision_id": decision_id}
    tx.run(SQL["edit_fact"], value=value, edited_by=edited_by, now=now, **ids)
