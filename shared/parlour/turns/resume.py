"""The result of a tool call that outlived its turn, as a message that a new turn answers."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject, canonical
from parlour.infra.postgres import Transaction
from parlour.infra.queues import QueueMessage
from parlour.jobs.work_due import GRACE
from parlour.tools.records import EndedCall
from parlour.tools.result import fit
from parlour.turns import polite, store
from parlour.turns.receive import Wake

_LONGEST = 6_000
"""Characters of a result in the message; about 1,500 tokens, the share of a messaging turn's tool results."""


@dataclass(frozen=True, slots=True)
class ToWake:
    """What has to be sent once the transaction is committed: `message`, on the turn queue of `channel`."""

    channel: str
    message: QueueMessage


def tool_ended(tx: Transaction, tenant_id: UUID, ended: EndedCall, new_id: NewId, now: datetime) -> ToWake | None:
    """Store the result where it was asked for, once per call and run; None when the conversation is gone.

    Nothing is lost when the wake-up is not sent: the session is due, and the sweep wakes it.
    """
    key = f"tool:{ended.id}:{ended.run}"
    told: JsonObject = {"tool": ended.name, "asked_with": ended.arguments, "outcome": ended.state}
    place = store.insert_tool_result(
        tx, turn_id=ended.turn_id, id=new_id(now), body=canonical({**told, "result": fit(ended.result, _LONGEST)}),
        provider_message_id=key, now=now, due_at=now + GRACE,
        metadata={"type": polite.TOOL_RESULT, "tool": ended.name, "tool_call_id": str(ended.id)},
    )  # fmt: skip
    if place is None:
        return None
    return ToWake(place.channel, Wake(tenant_id, place.session_id).message(f"{key}:{now.isoformat()}"))
