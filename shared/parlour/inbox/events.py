"""What happened in the inbox, in order: the console polls it, and notifications deliver it.

An event is written in the transaction of its move, as one row of `inbox_events`:

    number      the order; `list_events_after(number)` is the cheap poll.
    session_id  the conversation.
    kind        opened       a conversation waits for a person. details: {"reason", "priority"}
                said         somebody wrote: message_id, details {"by": "user" | "person" | "notice"}
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

Deliver from the port `opened, said, taken, handed_back, closed`; the other kinds are for the console.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, cast
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


def add_event(tx: Transaction, event: NewEvent) -> None:
    """Store an event in the transaction of its move, and notify people of it."""
    store.insert_event(tx, event)
    if event.kind in {"opened", "said", "taken", "assigned", "handed_back", "closed"}:
        notifications.notify(tx, _to_notify(event), event.at)


def _to_notify(event: NewEvent) -> InboxEvent:
    """Return an event as notifications tell it; given to a member it is taken by them."""
    kind = cast(InboxEventKind, "taken" if event.kind == "assigned" else event.kind)
    reason = _REASONS.get(cast(ThreadReason, event.details.get("reason")), "")
    by, _, member_id = str(event.details.get("assignee", "")).partition(":")
    assignee = UUID(member_id) if by == "member" and event.kind == "assigned" else None
    return InboxEvent(event.id, kind, event.session_id, reason, assignee)


def list_events_after(
    principal: Principal, tx: Transaction, number: int, limit: int, session_id: UUID | None = None
) -> list[store.EventRow]:
    """Return events after `number`, oldest first, as far as the viewer's clearance goes."""
    require_role(principal, "viewer")
    return store.list_events_after(tx, principal.clearance, number, session_id, limit)
