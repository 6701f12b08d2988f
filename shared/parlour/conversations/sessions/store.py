"""Sessions in lists, and what their users make of them, in the database."""

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Literal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tenancy.rows import SessionVisibility

SQL = Queries.for_module(__file__)

_PREVIEW_CHARS = 160
"""Of what was said last, that a list shows."""


type ConversationState = Literal[
    "answered", "running", "failed", "waiting", "waiting_for_user", "with_person", "archived"
]


@dataclass(frozen=True, slots=True)
class ConversationFilter:
    """Which conversations of a tenant are listed; None leaves a part open.

    text          part of the title or the person's name, or the last digits of their phone.
    state         answered: the last turn has its reply, and nobody is waited for; running: a turn is open; failed: a
                  turn or a tool failed; waiting: a person has to answer or to decide something; waiting_for_user: the
                  user is asked about a tool call; with_person: a person answers it, or put it off; archived.
    since, until  when the conversation was last active; with the state `failed`, when it failed.
    session_id    only this one.
    """

    text: str | None = None
    agent: str | None = None
    channel: str | None = None
    user_id: UUID | None = None
    entity_id: UUID | None = None
    state: ConversationState | None = None
    since: datetime | None = None
    until: datetime | None = None
    session_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """A conversation in the list of all.

    cost_usd       None when no model call of it has a known price.
    failed_tools   names of the tools whose last call did not work; None for none.
    inbox_state    a `ThreadState`; None when it never was in the inbox. assignee_name: the person who answers.
    has_question_for_user  whether the user is asked about a tool call.
    """

    id: UUID
    title: str
    user_id: UUID
    person_name: str | None
    phone_last_digits: str | None
    agent_slug: str
    agent_name: str
    channel: str
    record_handle: str | None
    record_name: str | None
    visibility: SessionVisibility
    archived_at: datetime | None
    created_at: datetime
    last_active_at: datetime
    message_count: int
    last_message_preview: str | None
    turn_count: int
    last_turn_state: str | None
    cost_usd: Decimal | None
    attention_count: int
    failed_tools: list[str] | None
    inbox_state: str | None
    assignee_name: str | None
    has_question_for_user: bool


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions of others are listed: about a record, of a user, or both; archived ones or all others."""

    entity_id: UUID | None
    user_id: UUID | None
    is_archived: bool


@dataclass(frozen=True, slots=True)
class SessionUpdate:
    """What a user changes about a session; None leaves it. Their own title is never replaced by a generated one."""

    title: str | None = None
    pinned: bool | None = None
    archived: bool | None = None
    visibility: SessionVisibility | None = None


@dataclass(frozen=True, slots=True)
class SessionListItem:
    """A session in a list. title: '' while nothing was said that names it; last: how what was said last begins."""

    id: UUID
    user_id: UUID
    binding_id: UUID
    entity_id: UUID | None
    visibility: SessionVisibility
    channel: str
    title: str
    is_main: bool
    pinned_at: datetime | None
    archived_at: datetime | None
    created_at: datetime
    last_active_at: datetime
    last_event_number: int
    last_message_preview: str | None


def list_own_sessions(
    tx: Transaction,
    user_id: UUID,
    binding_id: UUID,
    *,
    entity_id: UUID | None,
    archived: bool,
    after: tuple[bool, datetime, UUID] | None,
    limit: int,
) -> list[SessionListItem]:
    after_pinned, after_at, after_id = after or (None, None, None)
    return tx.all(
        SQL["list_own_sessions"],
        SessionListItem,
        user_id=user_id,
        binding_id=binding_id,
        entity_id=entity_id,
        archived=archived,
        after_pinned=after_pinned,
        after_at=after_at,
        after_id=after_id,
        most=limit,
        letters=_PREVIEW_CHARS,
    )


def list_readable_sessions(
    tx: Transaction,
    wanted: SessionFilter,
    *,
    visibilities: Collection[SessionVisibility],
    clearance: int,
    after: tuple[datetime, UUID] | None,
    limit: int,
) -> list[SessionListItem]:
    after_at, after_id = after or (None, None)
    return tx.all(
        SQL["list_readable_sessions"],
        SessionListItem,
        after_at=after_at,
        after_id=after_id,
        entity_id=wanted.entity_id,
        user_id=wanted.user_id,
        visibilities=sorted(visibilities),
        clearance=clearance,
        archived=wanted.is_archived,
        most=limit,
        letters=_PREVIEW_CHARS,
    )


def list_conversations(
    tx: Transaction,
    wanted: ConversationFilter,
    *,
    after: tuple[datetime, UUID] | None,
    clearance: int,
    limit: int,
) -> list[ConversationRow]:
    after_at, after_id = after or (None, None)
    return tx.all(
        SQL["list_conversations"],
        ConversationRow,
        **asdict(wanted),
        digits=_phone_digits(wanted.text or ""),
        after_at=after_at,
        after_id=after_id,
        clearance=clearance,
        most=limit,
        letters=_PREVIEW_CHARS,
    )


def _phone_digits(text: str) -> str:
    """Return the digits of a text that is written like a phone number; "" for any other text."""
    return re.sub(r"\D", "", text) if re.fullmatch(r"[\d\s().+…-]+", text) else ""


def find_latest_session(tx: Transaction, user_id: UUID, binding_id: UUID, entity_id: UUID | None) -> UUID | None:
    found: UUID | None = tx.value(
        SQL["find_latest_session"], user_id=user_id, binding_id=binding_id, entity_id=entity_id
    )
    return found


def update_session(
    tx: Transaction,
    session_id: UUID,
    user_id: UUID,
    update: SessionUpdate,
    now: datetime,
) -> bool:
    """Update a session of this user; False when there is none."""
    return (
        tx.value(SQL["update_session"], session_id=session_id, user_id=user_id, now=now, **asdict(update)) is not None
    )
