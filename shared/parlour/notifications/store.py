"""The notifications' way to the database."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.jobs.work_due import DueWork
from parlour.notifications.chatwoot_note import ChatwootEvent
from parlour.notifications.event import InboxEvent, InboxEventKind, Medium, MemberAddress, Recipient
from parlour.text.citation_markers import number_for_reader

SQL = Queries.for_module(__file__)

type NotificationState = Literal["pending", "sending", "sent", "failed", "unknown", "dismissed"]


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification with what sending it needs.

    secret_reference  where the secret store has the secret that signs a webhook, or Chatwoot's access token.
    problem           why the attempt before did not succeed; empty before the first one.
    waiting_count     how many conversations of the binding wait, for a mail that tells of others, too; else 0.
    """

    tenant_id: UUID
    id: UUID
    event: InboxEventKind
    reason: str
    session_id: UUID
    medium: Medium
    recipient: str
    state: NotificationState
    binding: str
    tenant_slug: str
    tenant_settings: JsonObject
    secret_reference: str | None
    created_at: datetime
    problem: str
    waiting_count: int = 0

    @property
    def may_have_arrived(self) -> bool:
        """Whether there was an attempt before."""
        return self.state == "sending" or bool(self.problem)


@dataclass(frozen=True, slots=True)
class JoinedMail:
    """A mail to the same recipient about another waiting conversation of the binding. ended_at: when it was sent."""

    id: UUID
    state: NotificationState
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A notification that another one waits for, and when its next attempt is due."""

    state: NotificationState
    due_at: datetime


@dataclass(frozen=True, slots=True)
class ChatwootSession:
    """The session of a conversation in Chatwoot.

    own_user       Chatwoot's id of the user whose token Parlour posts with.
    level, allowed_level  as in `ChatwootEvent`.
    has_all        whether Chatwoot has been told that the conversation was opened, and of every message.
    unanswered_at  when the user wrote what waits for an answer, the newest of it.
    """

    session_id: UUID
    own_user: int
    level: int
    allowed_level: int
    has_all: bool
    unanswered_at: datetime | None

    def has_shown_all(self, opened_at: datetime, at: datetime) -> bool:
        """Whether Chatwoot showed the present stay, opened at `opened_at`, and the user's last message at a time."""
        return self.has_all and max(opened_at, self.unanswered_at or opened_at) <= at


@dataclass(frozen=True, slots=True)
class ChatwootMember:
    """The member who answers in Chatwoot."""

    id: UUID
    roles: list[str]
    clearance: int


@dataclass(frozen=True, slots=True)
class NotificationProblem:
    """A notification that was not delivered, or may not have been."""

    id: UUID
    session_id: UUID
    medium: Medium
    recipient: str
    state: Literal["failed", "unknown"]
    problem: str
    created_at: datetime


def find_settings(tx: Transaction, session_id: UUID) -> JsonObject:
    settings: JsonObject | None = tx.value(SQL["find_settings"], session_id=session_id)
    return settings or {}


def find_binding_settings(tx: Transaction, slug: str) -> JsonObject:
    settings: JsonObject | None = tx.value(SQL["find_binding_settings"], slug=slug)
    return settings or {}


def list_member_addresses(tx: Transaction) -> list[MemberAddress]:
    return tx.all(SQL["list_member_addresses"], MemberAddress)


def add_notification(
    tx: Transaction, notification_id: UUID, event: InboxEvent, recipient: Recipient, due_at: datetime, now: datetime
) -> None:
    values = {"event": event.kind, "reason": event.reason, "medium": recipient.medium, "recipient": recipient.address}
    ids = {"id": notification_id, "event_id": event.id, "session_id": event.session_id}
    tx.run(SQL["add_notification"], secret=recipient.secret, due_at=due_at, now=now, **values, **ids)


def list_pending(tx: Transaction, session_id: UUID) -> list[DueWork]:
    return tx.all(SQL["list_pending"], DueWork, session_id=session_id)


def lock_notification(tx: Transaction, notification_id: UUID) -> NotificationRow | None:
    return tx.first(SQL["lock_notification"], NotificationRow, id=notification_id)


def lock_mails(tx: Transaction, notification_id: UUID) -> None:
    tx.run(SQL["lock_mails"], id=notification_id)


def list_joined_mails(
    tx: Transaction, notification_id: UUID, events: Collection[InboxEventKind], since: datetime
) -> list[JoinedMail]:
    """Return the other mails that one mail may tell of: those to come, and those that were sent since a time."""
    return tx.all(SQL["list_joined_mails"], JoinedMail, id=notification_id, events=[*events], since=since)


def count_waiting(tx: Transaction, notification_id: UUID) -> int | None:
    """Return how many conversations wait with the binding; None where the notification is of no anonymous visitor."""
    found: int | None = tx.value(SQL["count_waiting"], id=notification_id)
    return found


def end_joined_mails(tx: Transaction, ids: Sequence[UUID], now: datetime) -> None:
    """End mails that another one has told of."""
    tx.run(SQL["end_joined_mails"], ids=[*ids], now=now)


def set_state(tx: Transaction, notification_id: UUID, state: NotificationState, problem: str, now: datetime) -> None:
    tx.run(SQL["set_state"], id=notification_id, state=state, problem=problem, now=now)


def list_problems(tx: Transaction, clearance: int, limit: int, session_id: UUID | None) -> list[NotificationProblem]:
    values = {"clearance": clearance, "limit": limit, "session_id": session_id}
    return tx.all(SQL["list_problems"], NotificationProblem, **values)


def find_predecessor(tx: Transaction, notification_id: UUID) -> Predecessor | None:
    """Return the first notification of an earlier event of the conversation that its recipient has not got yet."""
    return tx.first(SQL["find_predecessor"], Predecessor, id=notification_id)


def expedite_successor(tx: Transaction, notification_id: UUID, now: datetime) -> list[DueWork]:
    """Make the next notification of the conversation to the same recipient due at once; return it, if there is one."""
    return tx.all(SQL["expedite_successor"], DueWork, id=notification_id, now=now)


def read_chatwoot_event(tx: Transaction, notification_id: UUID) -> ChatwootEvent | None:
    """Return what Chatwoot is told; None when the conversation was erased."""
    event = tx.first(SQL["read_chatwoot_event"], ChatwootEvent, id=notification_id)
    return replace(event, text=number_for_reader(event.text, event.cited_numbers)) if event else None


def save_chatwoot_address(tx: Transaction, inbox: str, address_id: UUID, *, rotates: bool) -> UUID:
    saved: UUID = tx.value(SQL["save_chatwoot_address"], inbox=inbox, address_id=address_id, rotates=rotates)
    return saved


def find_chatwoot_address(tx: Transaction, inbox: str) -> UUID | None:
    found: UUID | None = tx.value(SQL["find_chatwoot_address"], inbox=inbox)
    return found


def save_chatwoot_conversation(tx: Transaction, session_id: UUID, inbox: str, conversation: int, own_user: int) -> None:
    """Remember where a conversation is in Chatwoot."""
    values = {"inbox": inbox, "conversation": conversation, "own_user": own_user}
    tx.run(SQL["save_chatwoot_conversation"], session_id=session_id, **values)


def delete_chatwoot_conversation(tx: Transaction, session_id: UUID, inbox: str) -> None:
    """Forget where a conversation was in Chatwoot."""
    tx.run(SQL["delete_chatwoot_conversation"], session_id=session_id, inbox=inbox)


def find_chatwoot_session(tx: Transaction, inbox: str, conversation: int) -> ChatwootSession | None:
    """Return the session of a conversation in Chatwoot, if its binding still has that inbox."""
    return tx.first(SQL["find_chatwoot_session"], ChatwootSession, inbox=inbox, conversation=conversation)


def list_members_by_email(tx: Transaction, email: str) -> list[ChatwootMember]:
    """Return the active members with an address, at most two."""
    return tx.all(SQL["list_members_by_email"], ChatwootMember, email=email)


def find_member(tx: Transaction, member_id: UUID) -> ChatwootMember | None:
    """Return an active member."""
    return tx.first(SQL["find_member_of_chatwoot"], ChatwootMember, member_id=member_id)


def drop_chatwoot_message(tx: Transaction, message_id: UUID) -> None:
    """Do not send a message to Chatwoot that came from there."""
    tx.run(SQL["drop_chatwoot_message"], message_id=message_id)


def has_notification(tx: Transaction, notification_id: UUID) -> bool:
    """Whether a notification was stored."""
    return bool(tx.value(SQL["has_notification"], id=notification_id))
