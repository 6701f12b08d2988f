"""The notifications' way to the database."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.jobs.work_due import DueWork
from parlour.notifications.chatwoot_note import ChatwootEvent
from parlour.notifications.event import InboxEvent, InboxEventKind, Medium, MemberAddress, Recipient

SQL = Queries.for_module(__file__)

type NotificationState = Literal["pending", "sending", "sent", "failed", "unknown", "dismissed"]


@dataclass(frozen=True, slots=True)
class NotificationRow:
    """A notification with what sending it needs.

    secret_reference  where the secret store has the secret that signs a webhook, or Chatwoot's access token.
    problem           why the attempt before did not succeed; empty before the first one.
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

    @property
    def may_have_arrived(self) -> bool:
        """Whether there was an attempt before."""
        return self.state == "sending" or bool(self.problem)


@dataclass(frozen=True, slots=True)
class Predecessor:
    """A notification that another one waits for, and when its next attempt is due."""

    state: NotificationState
    due_at: datetime


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


def list_member_addresses(tx: Transaction) -> list[MemberAddress]:
    return tx.all(SQL["list_member_addresses"], MemberAddress)


def add_notification(
    tx: Transaction, notification_id: UUID, event: InboxEvent, recipient: Recipient, now: datetime
) -> None:
    values = {"event": event.kind, "reason": event.reason, "medium": recipient.medium, "recipient": recipient.address}
    ids = {"id": notification_id, "event_id": event.id, "session_id": event.session_id}
    tx.run(SQL["add_notification"], secret=recipient.secret, now=now, **values, **ids)


def list_pending(tx: Transaction, session_id: UUID) -> list[DueWork]:
    return tx.all(SQL["list_pending"], DueWork, session_id=session_id)


def lock_notification(tx: Transaction, notification_id: UUID) -> NotificationRow | None:
    return tx.first(SQL["lock_notification"], NotificationRow, id=notification_id)


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
    return tx.first(SQL["read_chatwoot_event"], ChatwootEvent, id=notification_id)


def save_chatwoot_conversation(tx: Transaction, session_id: UUID, inbox: str, conversation: int, own_user: int) -> None:
    """Remember where a conversation is in Chatwoot."""
    values = {"inbox": inbox, "conversation": conversation, "own_user": own_user}
    tx.run(SQL["save_chatwoot_conversation"], session_id=session_id, **values)


def delete_chatwoot_conversation(tx: Transaction, session_id: UUID, inbox: str) -> None:
    """Forget where a conversation was in Chatwoot."""
    tx.run(SQL["delete_chatwoot_conversation"], session_id=session_id, inbox=inbox)
