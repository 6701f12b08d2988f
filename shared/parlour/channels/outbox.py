"""Replies on their way out: put there with the reply, woken by a queue, moved forward by the provider's news.

    pending -> sending -> sent -> delivered -> read
       ^          |          \\-> failed (also later, when the provider says so)
       \\----------+-> failed     refused, or not taken after the last try
     not taken    +-> held       the channel takes no free text any more: a person decides
                  \\-> unknown    nobody knows whether it was taken: never sent again by itself, but the
                                 provider's news settle it where they name it, else a person does

A failed one is sent again when a person says so (`redrive`).
Whoever looks after what is left lying is told of a row by `put`, until it leaves pending and sending.
"""

from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.channels import store
from parlour.channels.store import Delivery, RowState, StuckSend, Unsent
from parlour.infra.errors import Conflict, Forbidden, MalformedPayload, NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import Queue, QueueMessage
from parlour.jobs import sweep
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import GRACE, DueWork
from parlour.principal import Principal

__all__ = [
    "Delivery",
    "Resolution",
    "StuckSend",
    "Unsent",
    "delivery",
    "failed",
    "finder",
    "message",
    "needing_a_person",
    "put",
    "read_wake",
    "redrive",
    "resolve",
    "unsent",
    "wake",
]

_FAILED_LATELY = timedelta(days=7)
"""Older ones are no news to whoever they were for."""

type Resolution = Literal["arrived", "send_again", "dismiss"]


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
        due_at=now + GRACE,
    )


def wake(queue: Queue, tenant_id: UUID, session_id: UUID, outbox_id: UUID, attempt: int = 0) -> None:
    """Have the row sent. `attempt` tells a repeated wake-up from a duplicate: use the row's `attempts`.

    Raises QueueUnavailable; the row then waits in `unsent` for whoever comes by.
    """
    again = f":{attempt}" if attempt else ""
    queue.send([message(tenant_id, session_id, outbox_id, f"{outbox_id}{again}")])


def message(tenant_id: UUID, session_id: UUID, outbox_id: UUID, deduplication: str) -> QueueMessage:
    """A wake-up; those of one session stay in order."""
    body: JsonObject = {"tenant_id": str(tenant_id), "outbox_id": str(outbox_id)}
    return QueueMessage(body, group=str(session_id), deduplication=deduplication)


def read_wake(body: JsonObject) -> tuple[UUID, UUID]:
    """Tenant and outbox row of a wake-up's body; MalformedPayload when it is something else."""
    try:
        return UUID(str(body["tenant_id"])), UUID(str(body["outbox_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('an outbox wake-up is {"tenant_id": uuid, "outbox_id": uuid}') from None


def unsent(tx: Transaction, *, session_id: UUID) -> list[Unsent]:
    """The session's replies that still wait to be sent, oldest first; wake them with their `attempts`."""
    return store.unsent(tx, session_id)


def finder(outbox: Queue) -> Finder:
    """Return the finder of replies that were not sent.

    One that is being sent is woken too: its sender is gone, or its message would still hold back ours. The next sender
    writes down that nobody knows whether it arrived.
    """

    def find(tx: Transaction, work: DueWork, _now: datetime) -> StaleWork | None:
        waiting = store.left_lying(tx, work.id)
        if waiting is None:
            return None
        return StaleWork(
            waiting.created_at,
            sweep.send(outbox, message(work.tenant_id, waiting.session_id, work.id, work.deduplication)),
        )

    return find


def delivery(tx: Transaction, *, message_id: UUID) -> Delivery | None:
    """How far the reply got; None when the message does not leave through a provider."""
    return store.delivery(tx, message_id)


def needing_a_person(principal: Principal, tx: Transaction, most: int) -> list[StuckSend]:
    """The replies that are unknown or held, oldest first, as far as the viewer's clearance goes."""
    _require(principal, "viewer")
    return store.stuck(tx, principal.clearance, most)


def resolve(principal: Principal, tx: Transaction, outbox_id: UUID, how: Resolution, now: datetime) -> Unsent | None:
    """A person has found out, or decided; what has to be sent now comes back, to be woken with its `attempts`.

    arrived: the part in doubt is on the user's phone (the parts after it are still sent); send_again: it is not, or a
    held one may go now; dismiss: let it be. Needs admin; the caller audits.
    Raises NotFound, and Conflict when the row waits for no person any more, or was held, so that nothing arrived.
    """
    _require(principal, "admin")
    _seen(principal, tx, outbox_id)
    if how == "arrived":
        changed = store.resolve_arrived(tx, outbox_id, principal.name, now, now + GRACE)
    elif how == "send_again":
        changed = store.resolve_again(tx, outbox_id, principal.name, now, now + GRACE)
    else:
        changed = store.resolve_dismissed(tx, outbox_id, principal.name, now)
    row = _seen(principal, tx, outbox_id)
    if not changed:
        raise Conflict(f"this reply is {row.state} by now; read the list again")
    return Unsent(outbox_id, row.session_id, row.attempts) if row.state == "pending" else None


def failed(principal: Principal, tx: Transaction, now: datetime, most: int) -> list[StuckSend]:
    """The replies of the last week that failed and may be redriven, latest first, as far as the viewer's clearance."""
    _require(principal, "viewer")
    return store.failed(tx, principal.clearance, now - _FAILED_LATELY, most)


def redrive(principal: Principal, tx: Transaction, outbox_id: UUID, now: datetime) -> Unsent:
    """A failed reply is to be sent after all, with new tries; wake it once that is committed, under an id of its own.

    Needs admin; the caller audits. Raises NotFound, and Conflict for one that did not fail or that a person let be:
    of an unknown or held one `resolve` is told.
    """
    _require(principal, "admin")
    _seen(principal, tx, outbox_id)
    changed = store.redrive(tx, outbox_id, principal.name, now, now + GRACE)
    row = _seen(principal, tx, outbox_id)
    if not changed:
        raise Conflict(f"this reply is {row.state}, so it is not sent again by this; see `parlour attention`")
    return Unsent(outbox_id, row.session_id, row.attempts)


def _seen(principal: Principal, tx: Transaction, outbox_id: UUID) -> RowState:
    """Where the row is; what is not the principal's to see is not there."""
    row = store.state(tx, outbox_id)
    if row is None or row.clearance > principal.clearance:
        raise NotFound("there is no such reply")
    return row


def _require(principal: Principal, role: str) -> None:
    if not principal.has(role):
        raise Forbidden(f"this needs the role {role}; ask an administrator of the tenant for it")
