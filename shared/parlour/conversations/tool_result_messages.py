"""The result of a tool call that outlived its turn, as a message that a new turn answers."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.approvals import approvals
from parlour.conversations import store
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.inbox import threads
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.infra.queues import QueueMessage
from parlour.jobs import work_due
from parlour.jobs.work_due import CHECK_DELAY
from parlour.prompts.assembly import user_message
from parlour.tools.result import shorten_to
from parlour.tools.rows import EndedCall

_MAX_RESULT_CHARS = 6_000
"""Characters of a result in the message; about 1,500 tokens, the share of a messaging turn's tool results."""


@dataclass(frozen=True, slots=True)
class PendingWakeup:
    """What has to be sent once the transaction is committed: `message`, on the turn queue of `channel`."""

    queue_channel: str
    message: QueueMessage


def store_tool_result(tx: Transaction, tenant_id: UUID, call: EndedCall, now: datetime) -> PendingWakeup | None:
    """Store the result where it was asked for, once per call and run; None when the agent has nothing to answer: the
    conversation is gone, or the asking turn was stopped.

    A conversation that was in the inbox only because of the call is the agent's again. It answers what the user wrote
    meanwhile, even when the asking turn was stopped.

    Nothing is lost when the wake-up is not sent: the session is due, and the sweep wakes it.
    """
    key = f"tool:{call.id}:{call.run_token}"
    told: JsonObject = {"tool": call.name, "arguments": call.arguments, "outcome": call.state}
    place = store.insert_tool_result(
        tx,
        turn_id=call.turn_id,
        call_id=call.id,
        id=uuid7(now),
        body=canonical_json({**told, "result": shorten_to(call.result, _MAX_RESULT_CHARS)}),
        provider_message_id=key,
        now=now,
        due_at=now + CHECK_DELAY,
        metadata={"type": user_message.TOOL_RESULT_KIND, "tool": call.name, "tool_call_id": str(call.id)},
    )
    approvals.complete(tx, call.id, now)
    if place is None:
        return None
    settled = threads.settle(tx, place.session_id, now) if call.state != "unknown" else None
    if place.is_stopped:
        if settled is None:
            return None
        work_due.schedule(tx, "session", place.session_id, now + CHECK_DELAY)
    wake = SessionWakeup(tenant_id, place.session_id).to_queue_message(f"{key}:{now.isoformat()}", place.wake_group)
    return PendingWakeup(place.channel, wake)
