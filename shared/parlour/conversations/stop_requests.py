"""Asking for the end of a turn, wherever it runs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.rows import StopCause
from parlour.conversations.tool_result_messages import store_tool_result
from parlour.infra.errors import NotFound
from parlour.infra.postgres import Transaction
from parlour.tools import calls


@dataclass(frozen=True, slots=True)
class StopResult:
    """What a request to stop a turn came to.

    state          open: it ends within a moment; else how it ended, by an earlier stop or by itself.
    cancelled      heavy calls of the turn that will not be carried out to their end.
    running_write  the tool of a write that is under way and ends by itself; "" for none.
    """

    state: Literal["open", "answered", "failed", "stopped"]
    cancelled: int
    running_write: str


def stop_turn(
    tx: Transaction, tenant_id: UUID, session_id: UUID, turn_id: UUID, cause: StopCause, now: datetime
) -> StopResult:
    """Have a turn of the session end, with what its heavy tools have not begun or only read. Idempotent.

    A write that is under way ends as it must. The results of all of them are stored, and no turn answers them. The
    caller has checked whose session it is. NotFound when the session has no such turn.
    """
    store.lock_session(tx, session_id)  # before its turn, as the end of the turn does
    found = store.request_stop(tx, session_id, turn_id, cause, now)
    if found is None:
        raise NotFound("this conversation has no such turn; its events name the turn that runs")
    return StopResult(found.state, stop_heavy_calls(tx, tenant_id, turn_id, now), found.running_write)


def stop_heavy_calls(tx: Transaction, tenant_id: UUID, turn_id: UUID, now: datetime) -> int:
    """End the heavy calls of a stopped turn that may end; return how many."""
    amount, ended = calls.stop_turn_calls(tx, turn_id, now)
    for call in ended:
        store_tool_result(tx, tenant_id, call, now)
    return amount
