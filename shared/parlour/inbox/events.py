"""What happened in the inbox, in order: the console polls it, and notifications deliver it.

An event is written in the transaction of its move, as one row of `inbox_events`:

    number      the order; `list_events_after(number)` is the cheap poll.
    session_id  the conversation.
    kind        opened       a conversation waits for a person. details: {"reason", "priority", "is_flood"?}
                said         somebody wrote: message_id, details {"by": "user" | "agent" | "person"}
                taken        a person has it. details: {"assignee"}
                assigned     somebody gave it to a person. details: {"assignee"}
                released     it waits again.
                noted        a private note: body.
                snoozed      details: {"until"}
                woken        a snooze ended.
                handed_back  the agent answers again. body: the instruction.
                closed       it is done.
                breached     a service time passed. details: {"clock": "first_response" | "resolution"}
                escalated    it waited too long. details: {"priority"}
    actor       `Principal.name` of who did it; "user:<id>" of a customer; "system".
    actor_name  a display name, for people of the tenant only.

`number` is given when the transaction commits, so a reader who has seen one has seen all smaller ones.

Notifications are of `opened, said, taken, handed_back, closed`, `assigned` as `taken`, and of clocks that passed:
`breached`, `escalated`. The other kinds are for the console.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast, get_args
from uuid import UUID

from parlour.inbox import store
from parlour.inbox.thread import ThreadReason
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.notifications import notifications
from parlour.notifications.event import InboxEvent, InboxEventKind
from parlour.principal import Principal
from parlour.tenancy.roles import require_role

type EventKind = Literal[
    "opened",
    "said",
    "taken",
    "assigned",
    "released",
    "noted",
    "snoozed",
    "woken",
    "handed_back",
    "closed",
    "breached",
    "escalated",
]


@dataclass(frozen=True, slots=True)
class NewEvent:
    """An event about to be stored; a repeat of `id` is stored once."""

    id: UUID
    session_id: UUID
    kind: EventKind
    actor: str
    at: datetime
    actor_name: str = ""
    message_id: UUID | None = None
    body: str = ""
    details: JsonObject = field(default_factory=dict)


#: Why a person is needed, as people who are notified read it: no word of the user.
_REASONS: Mapping[ThreadReason, str] = {
    "asked": "The user asked for a person.",
    "words": "The user asked for a person.",
    "tool_failed": "A tool failed twice.",
    "unknown_effect": "Nobody knows whether something that the agent did took effect.",
    "approval": "A question waits for an answer.",
    "held_reply": "A reply cannot be sent.",
    "failed_turn": "The agent could not answer.",
    "member": "A colleague opened it.",
}


#: What a clock's event tells people who are notified of it.
_CLOCKS: Mapping[str, str] = {
    "first_response": "Nobody answered within the service time.",
    "resolution": "It was not resolved within the service time.",
}
_LATE = "It waits longer than it should."


def add_event(tx: Transaction, event: NewEvent) -> None:
    """Store an event in the transaction of its move, and notify people of it."""
    store.insert_event(tx, event)
    if event.kind == "assigned" or event.kind in get_args(InboxEventKind.__value__):
        notifications.notify(tx, _to_notify(event), event.at)


def record_message(
    tx: Transaction, session_id: UUID, message_id: UUID, by: Literal["user", "agent"], actor: str, now: datetime
) -> bool:
    """Store that a user or their agent wrote, if the conversation is in the inbox; return whether it is."""
    thread = store.find_thread(tx, session_id)
    if thread is None or not thread.is_held:
        return False
    add_event(tx, NewEvent(message_id, session_id, "said", actor, now, message_id=message_id, details={"by": by}))
    return True


def _to_notify(event: NewEvent) -> InboxEvent:
    """Return an event as notifications tell it; given to a member it is taken by them."""
    kind = cast(InboxEventKind, "taken" if event.kind == "assigned" else event.kind)
    by, _, member_id = str(event.details.get("assignee", "")).partition(":")
    assignee = UUID(member_id) if by == "member" and event.kind == "assigned" else None
    is_by_person = event.details.get("by") == "person"
    is_flood = event.details.get("is_flood") is True
    return InboxEvent(
        event.id, kind, event.session_id, _reason(event), assignee, is_by_person=is_by_person, is_flood=is_flood
    )


def _reason(event: NewEvent) -> str:
    """Return why people are told, in words that hold nothing the user wrote."""
    if event.kind == "escalated":
        return _LATE
    clock = _CLOCKS.get(str(event.details.get("clock")), "")
    return clock or _REASONS.get(cast(ThreadReason, event.details.get("reason")), "")


def list_events_after(
    principal: Principal, tx: Transaction, number: int, limit: int, session_id: UUID | None = None
) -> list[store.EventRow]:
    """Return events after `number`, oldest first, as far as the viewer's clearance goes."""
    require_role(principal, "viewer")
    return store.list_events_after(tx, principal.clearance, number, session_id, limit)
