"""Replies on their way out: put there with the reply, woken by a queue, moved forward by the provider's news.

    pending -> sending -> sent -> delivered -> read
       ^          |          \\-> failed (also later, when the provider says so)
       \\----------+-> failed     refused, or not taken after the last try
     not taken    \\-> unknown    nobody knows whether it was taken: never sent again by itself

Provider news never move a row back, except that a message reported as failed may turn out to be delivered.
"""

from datetime import datetime
from uuid import UUID

from parlour.channels import store
from parlour.channels.envelope import Status
from parlour.channels.store import Delivery, Unsent
from parlour.infra import log
from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import Queue, QueueMessage

__all__ = ["Delivery", "Unsent", "delivery", "put", "read_wake", "record_status", "unsent", "wake"]

_MOVES: dict[Status, tuple[str, ...]] = {
    "failed": ("sent", "unknown"),
    "delivered": ("sent", "unknown", "failed"),
    "read": ("sent", "unknown", "failed", "delivered"),
}
"""From which states the provider's news move a row. A row is `sent` as soon as the provider took it, so that
`enqueued` and `sent` say nothing new."""

_LONGEST_PROBLEM = 500


def put(
    tx: Transaction,
    *,
    outbox_id: UUID,
    session_id: UUID,
    message_id: UUID,
    binding_id: UUID,
    channel: str,
    recipient: str,
    now: datetime,
) -> None:
    """Write down that a reply has to leave, in the transaction that stores it. One row per message; a repeat is none.

    `recipient` is the address on `channel`: a phone number in E.164 for whatsapp.
    """
    store.put(
        tx,
        outbox_id=outbox_id,
        session_id=session_id,
        message_id=message_id,
        binding_id=binding_id,
        channel=channel,
        recipient=recipient,
        now=now,
    )


def wake(queue: Queue, tenant_id: UUID, session_id: UUID, outbox_id: UUID, attempt: int = 0) -> None:
    """Have the row sent. `attempt` tells a repeated wake-up from a duplicate: use the row's `attempts`.

    Raises QueueUnavailable; the row then waits in `unsent` for whoever comes by.
    """
    body: JsonObject = {"tenant_id": str(tenant_id), "outbox_id": str(outbox_id)}
    again = f":{attempt}" if attempt else ""
    queue.send([QueueMessage(body, group=str(session_id), deduplication=f"{outbox_id}{again}")])


def read_wake(body: JsonObject) -> tuple[UUID, UUID]:
    """Tenant and outbox row of a wake-up's body; MalformedPayload when it is something else."""
    try:
        return UUID(str(body["tenant_id"])), UUID(str(body["outbox_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('an outbox wake-up is {"tenant_id": uuid, "outbox_id": uuid}') from None


def record_status(
    tx: Transaction, *, provider_message_id: str, status: Status, now: datetime, problem: str | None = None
) -> bool:
    """Move the reply that the provider knows by this id forward; whether that changed anything.

    False for an id that is not ours, for news that come late or twice, and for what `sent` covers already.
    `problem` says why, for `failed`.
    """
    movable = _MOVES.get(status)
    if not movable:
        return False
    why = (problem or "the provider gave no reason")[:_LONGEST_PROBLEM] if status == "failed" else None
    moved = store.status(
        tx, provider_message_id=provider_message_id, state=status, movable=movable, problem=why, now=now
    )
    if moved and status == "failed":
        log.count("FailedSend")
    return moved


def unsent(tx: Transaction, *, session_id: UUID) -> list[Unsent]:
    """The session's replies that still wait to be sent, oldest first; wake them with their `attempts`."""
    return store.unsent(tx, session_id)


def delivery(tx: Transaction, *, message_id: UUID) -> Delivery | None:
    """How far the reply got; None when the message does not leave through a provider."""
    return store.delivery(tx, message_id)
