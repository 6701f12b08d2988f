"""The rows of tool calls: reserved by a turn, carried out by it or by the dispatcher, settled by a person."""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.errors import Conflict, Forbidden, MalformedPayload, NotFound, OutcomeUnknown, ToolCancelled
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import FifoQueue, QueueMessage
from parlour.jobs import sweep
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import CHECK_DELAY, DueWork
from parlour.principal import Principal
from parlour.tools import store
from parlour.tools.result import ToolResult, error_result
from parlour.tools.rows import EndedCall, ToolCall, UnansweredCall, UnfinishedCall, UnknownCall
from parlour.tools.tool_definition import Tool

__all__ = [
    "IN_PROGRESS_RESULT",
    "EndedCall",
    "UnansweredCall",
    "UnfinishedCall",
    "UnknownCall",
    "begin_call",
    "cancel_call",
    "cancel_session_calls",
    "dispatch_message",
    "end_asked_call",
    "end_call",
    "finder",
    "give_up_calls",
    "list_unanswered",
    "list_undispatched",
    "list_unfinished",
    "list_unknown",
    "parse_dispatch_message",
    "record_callback",
    "reserve_call",
    "resolve_call",
    "start_approved_call",
    "stop_turn_calls",
]

IN_PROGRESS_RESULT: JsonObject = {
    "ok": True,
    "status": "working",
    "message": "This takes a while. Tell the user that it is being worked on and that you will report back; the result "
    "comes by itself, so do not ask for it again.",
}
"""What the model is told at once of a heavy call."""

_NOT_FOUND_MESSAGE = "tool call not found"
_CONFIRMED_RESULT: JsonObject = {"ok": True, "status": "done", "message": "A person found out that this was done."}


def reserve_call(tx: Transaction, turn_id: UUID, call: UnfinishedCall, tool: Tool, idempotency_key: str) -> None:
    """Write down that a committed step asked for this call; nothing is written twice for one idempotency `key`.

    A heavy tool's call is the dispatcher's: the model is told that it is being worked on, and the sweep looks after it.
    """
    store.reserve_call(
        tx,
        id=call.id,
        turn_id=turn_id,
        step=call.step,
        call_id=call.call_id,
        name=tool.name,
        arguments=call.arguments,
        writes=tool.writes,
        idempotency_key=idempotency_key,
        interim=IN_PROGRESS_RESULT if tool.heavy else None,
        due_at=call.started_at + CHECK_DELAY,
        now=call.started_at,
    )


def begin_call(tx: Transaction, id: UUID, now: datetime) -> None:  # noqa: A002, ARG001 - the time of a start is not kept
    """Mark the call as running, before the turn calls the endpoint. Idempotent."""
    store.begin_call(tx, id)


def end_call(
    tx: Transaction,
    id: UUID,  # noqa: A002 - the column's name
    state: Literal["done", "failed", "unknown"],
    result: ToolResult,
    latency_ms: int,
    now: datetime,
) -> None:
    """Store the outcome of the turn's own call; an ended call stays as it is."""
    store.end_call(
        tx,
        id=id,
        state=state,
        result=result.content,
        code=result.code or None,
        detail=result.detail,
        latency_ms=latency_ms,
        now=now,
    )


def give_up_calls(tx: Transaction, turn_id: UUID, now: datetime) -> int:
    """End the calls of a turn that is given up; return how many became unknown.

    A running call without an outcome becomes unknown, a reserved one is cancelled. Heavy calls belong to the dispatcher
    and continue.
    """
    return store.give_up_calls(
        tx, turn_id, error_result(OutcomeUnknown()).content, error_result(ToolCancelled()).content, now
    )


def list_unfinished(tx: Transaction, turn_id: UUID) -> list[UnfinishedCall]:
    """Return the calls that a turn runs itself and that have no outcome, in order."""
    return store.list_unfinished(tx, turn_id)


def list_undispatched(tx: Transaction, turn_id: UUID) -> list[UUID]:
    """Return the calls of a turn that the dispatcher has not taken up: they are sent again."""
    return store.list_undispatched(tx, turn_id)


def finder(tools: FifoQueue) -> Finder:
    """Return the finder of long calls that have not ended."""

    def find(tx: Transaction, work: DueWork, _now: datetime) -> StaleWork | None:
        waiting = store.lock_unfinished_heavy(tx, work.id)
        if waiting is None:
            return None
        woken = dispatch_message(work.tenant_id, work.id, int(work.due_at.timestamp()))
        return StaleWork(
            waiting.started_at, sweep.message_sender(tools, woken), waiting.run_until, first_wait=CHECK_DELAY
        )

    return find


def dispatch_message(tenant_id: UUID, tool_call_id: UUID, attempt: int = 0) -> QueueMessage:
    """Return the message that wakes the dispatcher for a call; `attempt` tells repeated ones apart for five minutes.

    Each has a FIFO group of its own: the message of a dead worker would block the group of both.
    """
    body: JsonObject = {"tenant_id": str(tenant_id), "tool_call_id": str(tool_call_id)}
    return QueueMessage(body, f"{tool_call_id}:{attempt}", f"{tool_call_id}:{attempt}")


def parse_dispatch_message(body: Mapping[str, object]) -> tuple[UUID, UUID]:
    """Tenant and call of a dispatcher's message; MalformedPayload when it is something else."""
    try:
        return UUID(str(body["tenant_id"])), UUID(str(body["tool_call_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('a tool call is {"tenant_id": uuid, "tool_call_id": uuid}') from None


def record_callback(tx: Transaction, call_id: UUID, run_token: int, result: ToolResult, now: datetime) -> EndedCall:
    """Store a tool's late answer to one run; return the call as it ended then, or before.

    It settles an unknown outcome, unless a person has decided. Idempotent. NotFound when the call is gone or runs
    again.
    """
    state = "done" if result.ok else "failed"
    store.record_callback(
        tx, id=call_id, run=run_token, state=state, result=result.content, code=result.code or None, now=now
    )
    ended = _get_call(tx, call_id).to_ended_call()
    if ended is None:
        raise NotFound("this call was restarted; results of earlier runs are ignored")
    return ended


def list_unknown(
    principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None
) -> list[UnknownCall]:
    """Return the calls of unknown outcome, of a session or of all, the oldest first, up to the viewer's clearance."""
    _require_role(principal, "viewer")
    return store.list_unknown(tx, principal.clearance, limit, session_id)


def list_unanswered(
    principal: Principal, tx: Transaction, now: datetime, limit: int, session_id: UUID | None = None
) -> list[UnansweredCall]:
    """Return the long calls whose worker stopped without an outcome, of a session or of all, the oldest first.

    Up to the viewer's clearance. They need nobody: another worker finds out what became of them, within seconds.
    """
    _require_role(principal, "viewer")
    return store.list_unanswered(tx, principal.clearance, now, limit, session_id)


def resolve_call(
    principal: Principal, tx: Transaction, call_id: UUID, resolution: Literal["done", "run_again"], now: datetime
) -> EndedCall | None:
    """Resolve a call of unknown outcome as a person found out.

    Done: the ended call is returned, for the conversation. Not done: None, and it runs again under the same key (send
    `dispatch_message`). Needs admin; the caller audits. NotFound, and Conflict when the outcome is known by now.
    """
    _require_visible(principal, tx, call_id)
    if resolution == "done":
        changed = store.resolve_done(tx, call_id, _CONFIRMED_RESULT, principal.name, now)
    else:
        changed = store.resolve_run_again(tx, call_id, principal.name, now + CHECK_DELAY, now)
    call = _get_call(tx, call_id)
    if not changed:
        raise Conflict("this call is already resolved; reload the list")
    return call.to_ended_call() if resolution == "done" else None


def cancel_call(principal: Principal, tx: Transaction, call_id: UUID, now: datetime) -> EndedCall | None:
    """Stop a long call. The ended call comes back when nobody is at it; None when its dispatcher has to notice,
    which takes about a second. Needs admin; the caller audits.

    A write that the tool has taken and not answered cannot be called off: its outcome is unknown from now on.
    Raises NotFound, and Conflict when the call has ended or is the turn's own.
    """
    _require_visible(principal, tx, call_id)
    if not store.request_cancel(tx, call_id, now):
        raise Conflict("this call has ended or cannot be cancelled")
    return _end_unless_running(tx, call_id, now)


def cancel_session_calls(tx: Transaction, session_id: UUID, now: datetime) -> tuple[int, list[EndedCall]]:
    """Stop every long call of a session: how many there were, and those of them that nobody was at, ended. The caller
    has checked whose session it is: people may stop what they asked for."""
    under_way = [
        call_id for call_id in store.list_unfinished_heavy(tx, session_id) if store.request_cancel(tx, call_id, now)
    ]
    return len(under_way), [ended for call_id in under_way if (ended := _end_unless_running(tx, call_id, now))]


def stop_turn_calls(tx: Transaction, turn_id: UUID, now: datetime) -> tuple[int, list[EndedCall]]:
    """Stop the heavy calls of a turn, all but the writes that are under way. Return how many, and those of them that
    nobody was at, ended."""
    stopped = store.stop_turn_calls(tx, turn_id, now)
    return len(stopped), [ended for call_id in stopped if (ended := _end_unless_running(tx, call_id, now))]


def start_approved_call(tx: Transaction, call_id: UUID, arguments: JsonObject, now: datetime, due_at: datetime) -> None:
    """Make a call that a person agreed to the dispatcher's; send `dispatch_message` after the commit. Idempotent."""
    store.start_approved_call(tx, id=call_id, arguments=arguments, now=now, due_at=due_at)


def end_asked_call(tx: Transaction, call_id: UUID, code: str, result: JsonObject, now: datetime) -> EndedCall | None:
    """End a call about which a person was asked, without running it; return it for its conversation. Idempotent."""
    store.end_asked_call(tx, id=call_id, code=code, result=result, now=now)
    return _get_call(tx, call_id).to_ended_call()


def _end_unless_running(tx: Transaction, call_id: UUID, now: datetime) -> EndedCall | None:
    call = _get_call(tx, call_id)
    if call.state == "running" and not call.is_accepted:
        return None
    in_doubt = call.writes and call.is_accepted
    result = error_result(OutcomeUnknown() if in_doubt else ToolCancelled())
    store.end_run(
        tx,
        id=call.id,
        run=call.run_token,
        state="unknown" if in_doubt else "failed",
        result=result.content,
        code=ToolCancelled.code,
        detail="",
        latency_ms=None,
        now=now,
    )
    return _get_call(tx, call_id).to_ended_call()


def _get_call(tx: Transaction, call_id: UUID) -> ToolCall:
    call = store.find_call(tx, call_id)
    if call is None:
        raise NotFound(_NOT_FOUND_MESSAGE)
    return call


def _require_visible(principal: Principal, tx: Transaction, call_id: UUID) -> None:
    """Whoever decides is an administrator, and may see what the call was asked with; else it is not there."""
    _require_role(principal, "admin")
    if _get_call(tx, call_id).required_clearance > principal.clearance:
        raise NotFound(_NOT_FOUND_MESSAGE)


def _require_role(principal: Principal, role: str) -> None:
    if not principal.has_role(role):
        raise Forbidden(f"this needs the role {role}; ask an administrator of the tenant for it")
