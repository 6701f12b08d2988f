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

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.channels import store
from parlour.channels.store import NewDelivery, PendingReply, ReplyState, StuckReply, WaitingReply
from parlour.infra.errors import Conflict, Forbidden, MalformedPayload, NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.infra.queues import FifoQueue, QueueMessage
from parlour.jobs import sweep, work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import CHECK_DELAY, DueWork
from parlour.principal import Principal

__all__ = [
    "NewDelivery",
    "PendingReply",
    "Resolution",
    "StuckReply",
    "WaitingReply",
    "enqueue",
    "find_session_id",
    "finder",
    "list_failed",
    "list_needing_decision",
    "list_pending",
    "list_waiting",
    "parse_wakeup",
    "redrive_reply",
    "resolve_reply",
    "send_wakeup",
    "wakeup_message",
]

_FAILED_LISTED_FOR = timedelta(days=7)
"""Older ones are no news to whoever they were for."""

_DELAYED_AFTER = timedelta(minutes=1)
"""How long a reply may take before people are told that it waits."""

type Resolution = Literal["arrived", "send_again", "dismiss"]


def enqueue(tx: Transaction, reply: NewDelivery, now: datetime) -> None:
    """Put a reply into the outbox, in the transaction that stores its message. A message has one row at most."""
    store.add_reply(tx, reply, now, now + CHECK_DELAY)


def send_wakeup(queue: FifoQueue, tenant_id: UUID, session_id: UUID, outbox_id: UUID, attempt: int = 0) -> None:
    """Have the row sent. `attempt` tells a repeated wake-up from a duplicate: use the row's `attempts`.

    Raises QueueUnavailable; the row then waits in `unsent` for whoever comes by.
    """
    again = f":{attempt}" if attempt else ""
    queue.send([wakeup_message(tenant_id, session_id, outbox_id, f"{outbox_id}{again}")])


def wakeup_message(tenant_id: UUID, session_id: UUID, outbox_id: UUID, deduplication_id: str) -> QueueMessage:
    """Return a wake-up; those of one session stay in order."""
    body: JsonObject = {"tenant_id": str(tenant_id), "outbox_id": str(outbox_id)}
    return QueueMessage(body, group_id=str(session_id), deduplication_id=deduplication_id)


def parse_wakeup(body: JsonObject) -> tuple[UUID, UUID]:
    """Tenant and outbox row of a wake-up's body; MalformedPayload when it is something else."""
    try:
        return UUID(str(body["tenant_id"])), UUID(str(body["outbox_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('an outbox wake-up is {"tenant_id": uuid, "outbox_id": uuid}') from None


def list_pending(tx: Transaction, *, session_id: UUID) -> list[PendingReply]:
    """Return the session's replies that wait to be sent, oldest first; wake them with their `attempts`."""
    return store.list_pending(tx, session_id)


def finder(outbox: FifoQueue) -> Finder:
    """Return the finder of replies that were not sent.

    The oldest of a session is woken in a FIFO group of its own: the message of a dead sender may block the session's.
    The later ones stay in order behind it. After a sender that died in the middle, the next one marks the reply
    `unknown`.
    """

    def find(tx: Transaction, work: DueWork, _now: datetime) -> StaleWork | None:
        waiting = store.lock_unsent(tx, work.id)
        if waiting is None:
            return None
        message = wakeup_message(work.tenant_id, waiting.session_id, work.id, work.deduplication_id)
        if waiting.is_oldest:
            message = replace(message, group_id=work.deduplication_id)
        leased_until = work_due.find_lease_end(tx, "outbox", work.id)
        return StaleWork(
            waiting.created_at, sweep.message_sender(outbox, message), leased_until, first_wait=CHECK_DELAY
        )

    return find


def list_needing_decision(
    principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None
) -> list[StuckReply]:
    """Return the unknown or held replies of a session or of all, oldest first, up to the viewer's clearance."""
    _require_role(principal, "viewer")
    return store.list_stuck(tx, principal.clearance, limit, session_id)


def list_waiting(
    principal: Principal, tx: Transaction, now: datetime, limit: int, session_id: UUID | None = None
) -> list[WaitingReply]:
    """Return the replies that wait for another attempt, of a session or of all, up to the viewer's clearance.

    A reply waits when an attempt failed, or when it is not sent after a minute. It is gone once it is sent.
    """
    _require_role(principal, "viewer")
    return store.list_waiting(tx, principal.clearance, now - _DELAYED_AFTER, limit, session_id)


def resolve_reply(
    principal: Principal, tx: Transaction, outbox_id: UUID, resolution: Resolution, now: datetime
) -> PendingReply | None:
    """Resolve an unknown or held reply as a person decided; return what is to be sent now, to be woken.

    arrived: the uncertain part is on the user's phone (the parts after it are still sent); send_again: it is not, or a
    held one may go now; dismiss: it is not sent. Needs admin; the caller audits. NotFound, and Conflict when the reply
    waits for no decision any more, or was held, so that nothing arrived.
    """
    _require_role(principal, "admin")
    _get_visible_row(principal, tx, outbox_id)
    if resolution == "arrived":
        changed = store.resolve_arrived(tx, outbox_id, principal.name, now, now + CHECK_DELAY)
    elif resolution == "send_again":
        changed = store.resolve_send_again(tx, outbox_id, principal.name, now, now + CHECK_DELAY)
    else:
        changed = store.resolve_dismissed(tx, outbox_id, principal.name, now)
    row = _get_visible_row(principal, tx, outbox_id)
    if not changed:
        raise Conflict(f"this reply is now {row.state}; reload the list")
    return PendingReply(outbox_id, row.session_id, row.attempts) if row.state == "pending" else None


def find_session_id(tx: Transaction, outbox_id: UUID) -> UUID | None:
    """Return the session that a reply belongs to; None when the reply is gone."""
    row = store.get_state(tx, outbox_id)
    return row.session_id if row else None


def list_failed(principal: Principal, tx: Transaction, now: datetime, limit: int, cursor: str = "") -> Page[StuckReply]:
    """Return a page of the last week's replies that failed and may be redriven, up to the viewer's clearance.

    InvalidRequest for a bad cursor.
    """
    _require_role(principal, "viewer")
    after = decode_id_cursor(cursor) if cursor else None
    rows = store.list_failed(tx, principal.clearance, now - _FAILED_LISTED_FOR, after, limit + 1)
    return cut_page(rows, limit, lambda reply: (reply.created_at, reply.id))


def redrive_reply(principal: Principal, tx: Transaction, outbox_id: UUID, now: datetime) -> PendingReply:
    """Schedule a failed reply with new attempts; wake it after the commit, under an id of its own.

    Needs admin; the caller audits. NotFound, and Conflict for one that did not fail or was dismissed; unknown or held
    ones go through `resolve_reply`.
    """
    _require_role(principal, "admin")
    _get_visible_row(principal, tx, outbox_id)
    changed = store.redrive_reply(tx, outbox_id, principal.name, now, now + CHECK_DELAY)
    row = _get_visible_row(principal, tx, outbox_id)
    if not changed:
        raise Conflict(f"this reply is {row.state} and cannot be redriven; see `parlour attention`")
    return PendingReply(outbox_id, row.session_id, row.attempts)


def _get_visible_row(principal: Principal, tx: Transaction, outbox_id: UUID) -> ReplyState:
    """Where the row is; what is not the principal's to see is not there."""
    row = store.get_state(tx, outbox_id)
    if row is None or row.clearance > principal.clearance:
        raise NotFound("reply not found")
    return row


def _require_role(principal: Principal, role: str) -> None:
    if not principal.has_role(role):
        raise Forbidden(f"this needs the role {role}; ask an administrator of the tenant for it")
