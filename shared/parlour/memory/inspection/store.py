"""Memory as people read it, in the database."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)

_MAX_QUOTED_CHARS = 400
"""Of a message that a fact was taken from, that are shown."""


@dataclass(frozen=True, slots=True)
class UserSummaryRow:
    """A user in a list, with how much is remembered of them; `name` and `phone_last_digits` are "" where unknown."""

    id: UUID
    name: str
    phone_last_digits: str
    session_count: int
    last_active_at: datetime
    channels: list[str]
    fact_count: int
    episode_count: int


@dataclass(frozen=True, slots=True)
class UserRow:
    """A user without their memory; `clearance` is None where the binding decides."""

    id: UUID
    name: str
    phone_last_digits: str
    clearance: int | None
    created_at: datetime
    channels: list[str]


@dataclass(frozen=True, slots=True)
class FactRow:
    """A live fact of a user.

    evidence_messages  the user's messages that say it: {id, session_id, sent_at, channel, text, is_archived}.
    previous_values    earlier values of its key, latest first: {id, value, from, until, end_reason}.
    edited_by          the kind of principal who edited it; "" when nobody did.
    """

    id: UUID
    key: str
    value: str
    confidence: float
    origin: str
    edited_by: str
    valid_from: datetime
    last_confirmed_at: datetime
    recall_count: int
    use_count: int
    last_used_at: datetime | None
    session_id: UUID | None
    binding_id: UUID
    binding_slug: str
    agent_name: str
    evidence_messages: list[JsonObject]
    previous_values: list[JsonObject]


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """What came of a stretch of a conversation; folded: how many more said nearly the same."""

    id: UUID
    text: str
    from_at: datetime
    until_at: datetime
    merged_count: int
    recall_count: int
    use_count: int
    session_id: UUID
    binding_id: UUID
    binding_slug: str
    agent_name: str


@dataclass(frozen=True, slots=True)
class SharedFactRow:
    """A fact of a whole persona or team; whose: its name."""

    id: UUID
    scope: str
    owner_name: str
    key: str
    value: str
    confidence: float
    origin: str
    valid_from: datetime
    last_confirmed_at: datetime
    recall_count: int
    use_count: int


@dataclass(frozen=True, slots=True)
class IdRow:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class EditableFactRow:
    """A live fact that is held to be put right."""

    id: UUID
    scope: str
    key: str
    value: str
    user_id: UUID | None
    binding_id: UUID | None


def list_users(
    tx: Transaction, text: str, clearance: int, after: tuple[datetime, UUID] | None, limit: int
) -> list[UserSummaryRow]:
    after_at, after_id = after or (None, None)
    return tx.all(
        SQL["list_users"],
        UserSummaryRow,
        text=text,
        clearance=clearance,
        after_at=after_at,
        after_id=after_id,
        most=limit,
    )


def find_user(tx: Transaction, user_id: UUID, clearance: int) -> UserRow | None:
    return tx.first(SQL["find_user"], UserRow, user_id=user_id, clearance=clearance)


def list_facts(
    tx: Transaction, user_id: UUID, binding_id: UUID | None, *, is_own: bool, clearance: int, limit: int
) -> list[FactRow]:
    values = {"user_id": user_id, "binding_id": binding_id, "is_own": is_own, "clearance": clearance, "most": limit}
    return tx.all(SQL["list_facts"], FactRow, letters=_MAX_QUOTED_CHARS, **values)


def list_episodes(
    tx: Transaction, user_id: UUID, binding_id: UUID | None, *, is_own: bool, clearance: int, limit: int
) -> list[EpisodeRow]:
    values = {"user_id": user_id, "binding_id": binding_id, "is_own": is_own, "clearance": clearance, "most": limit}
    return tx.all(SQL["list_episodes"], EpisodeRow, **values)


def list_shared_facts(tx: Transaction, limit: int) -> list[SharedFactRow]:
    return tx.all(SQL["list_shared_facts"], SharedFactRow, most=limit)


def lock_fact(
    tx: Transaction, fact_id: UUID, *, user_id: UUID | None, binding_id: UUID | None, clearance: int
) -> EditableFactRow | None:
    """One of that user's with that binding; without a user any that the clearance covers."""
    values = {"user_id": user_id, "binding_id": binding_id, "clearance": clearance}
    return tx.first(SQL["lock_fact"], EditableFactRow, fact_id=fact_id, **values)


def find_previous_value_ids(tx: Transaction, fact_id: UUID) -> list[UUID]:
    """Return the ids of the earlier values of the fact's key."""
    return [row.id for row in tx.all(SQL["find_previous_value_ids"], IdRow, fact_id=fact_id)]


def replace_value(
    tx: Transaction, fact_id: UUID, value: str, *, edited_by: str, new_id: UUID, decision_id: UUID, now: datetime
) -> None:
    ids = {"fact_id": fact_id, "new_id": new_id, "decision_id": decision_id}
    tx.run(SQL["replace_value"], value=value, edited_by=edited_by, now=now, **ids)
