"""Turns that failed: gone on with from what they had committed, or let be."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.conversations import inbox_messages, store
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.rows import FailedTurn
from parlour.conversations.tool_result_messages import PendingWakeup
from parlour.inbox import threads
from parlour.infra import log
from parlour.infra.errors import Conflict
from parlour.infra.postgres import Transaction
from parlour.jobs.work_due import CHECK_DELAY
from parlour.principal import Principal
from parlour.tenancy import roles

type TurnProblemCode = Literal["unexpected_error", "too_many_attempts"]
"""Why a turn failed: every attempt met an error that nobody expected, or was ended before it could answer."""

_NOT_WAITING = "this turn is no longer open: it was redriven or dismissed meanwhile"
_NOT_WAITING_OR_BUSY = f"{_NOT_WAITING}; or its session has another turn open, so try again in a moment"


def list_failed_turns(
    principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None
) -> list[FailedTurn]:
    """Return the failed turns of a session or of all that nobody has decided on, up to the viewer's clearance."""
    roles.require_role(principal, "viewer")
    return store.list_failed_turns(tx, principal.clearance, limit, session_id)


def redrive_turn(principal: Principal, tx: Transaction, turn_id: UUID, now: datetime) -> PendingWakeup:
    """Open the failed turn again, with three new attempts; what comes back is to be sent after the commit.

    It goes on from its journal: a step that was paid for is not paid again, an effect that was done is not done
    again, and one whose outcome nobody knows stays a person's. Conflict when somebody was quicker, or the session
    has another turn open. When the wake-up is not sent, the next message of the session, or the sweep, brings it
    about. Done twice at the same moment it is done once; the caller audits. A conversation of the inbox is the agent's
    again, unless somebody asked for a person in it and nobody has it; Conflict while somebody else has it.
    """
    roles.require_role(principal, "admin")
    place = store.redrive_turn(tx, turn_id, now, now + CHECK_DELAY)
    if place is None:
        raise Conflict(_NOT_WAITING_OR_BUSY)
    threads.redrive(principal, tx, place.session_id, now)
    log.info("turn_redriven", tenant_id=principal.tenant_id, turn_id=turn_id, session_id=place.session_id)
    wakeup = SessionWakeup(principal.tenant_id, place.session_id)
    message = wakeup.to_queue_message(f"redrive:{turn_id}:{now.isoformat()}", place.wake_group)
    return PendingWakeup(place.channel, message)


def dismiss_turn(principal: Principal, tx: Transaction, turn_id: UUID, now: datetime) -> PendingWakeup | None:
    """Leave the failed turn's messages unanswered; Conflict when somebody was quicker.

    The agent goes on, unless a person has the conversation: what comes back is then to be sent after the commit.
    """
    roles.require_role(principal, "admin")
    session_id = store.find_session_of_turn(tx, turn_id)
    # The session is locked before its turn, as everywhere; the other way round, a redrive would be in a deadlock.
    if session_id is None or not store.lock_session(tx, session_id) or not store.dismiss_turn(tx, turn_id, now):
        raise Conflict(_NOT_WAITING)
    return inbox_messages.settle(tx, principal.tenant_id, session_id, now)
