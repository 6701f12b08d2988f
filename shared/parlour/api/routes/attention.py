"""What needs a person, and what a person decides about it; the right queue is woken once that is committed."""

from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api import attention_items
from parlour.api.attention_schemas import (
    AttentionCountsView,
    AttentionPageView,
    CancelledToolCallsView,
    FailedReplyPageView,
    ResolutionView,
)
from parlour.api.authorization import Admin, AnyCaller, Caller, Viewer
from parlour.api.schemas import NotificationResolution, PageCursor, ReplyResolution, ToolCallResolution, TurnResolution
from parlour.channels import outbox
from parlour.channels.outbox import StuckReply, WaitingReply
from parlour.conversations import failed_turns, inbox_messages, tool_result_messages, turn_views
from parlour.conversations.tool_result_messages import PendingWakeup
from parlour.inbox import threads
from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.models import agent_loops, spend
from parlour.notifications import notifications
from parlour.principal import Principal
from parlour.tenancy import audit, roles, routing_keys, users
from parlour.tools import calls
from parlour.tools.calls import EndedCall, UnansweredCall, UnknownCall

router = APIRouter(prefix="/v1", tags=["attention"])

_MAX_ITEMS = 100
Limit = Annotated[int, Query(ge=1, le=_MAX_ITEMS)]
_WAKE_DEFERRED = (
    "The queue is unavailable. The sweep retries automatically within minutes, or where the database pauses "
    "within a day."
)

type WakeFunction = Callable[[], None]
"""Sends to the queue that goes on from here, once the decision is committed. Raises QueueUnavailable."""


@router.get("/attention")
def list_attention_items(
    caller: Viewer,
    session_id: Annotated[UUID | None, Query(description="Only those of this conversation.")] = None,
) -> AttentionPageView:
    """Everything of the tenant that waits for a person, oldest first, and today's spend against the cap.

    Unknown outcomes, held replies and failed turns are decided in their conversation of the inbox. Replies that wait
    and calls without an answer yet go on by themselves.
    """
    who, most = caller.principal, _MAX_ITEMS + 1
    with caller.transaction() as tx:
        unknown = _filter_readable(who, tx, calls.list_unknown(who, tx, most, session_id))
        unanswered = _filter_readable(who, tx, calls.list_unanswered(who, tx, caller.now, most, session_id))
        stuck = _filter_readable(who, tx, outbox.list_needing_decision(who, tx, most, session_id))
        waiting = _filter_readable(who, tx, outbox.list_waiting(who, tx, caller.now, most, session_id))
        parked = failed_turns.list_failed_turns(who, tx, most, session_id)
        undelivered = notifications.list_problems(who, tx, most, session_id)
        failing = [] if session_id else agent_loops.list_failing_loops(who, tx, caller.now, most)
        claims = [] if session_id else routing_keys.list_waiting_claims(tx)
        unheard = threads.list_unheard_threads(who, tx, most, session_id)
        today = spend.read_today(who, tx, caller.dependencies.default_daily_cap, caller.now)
    spend_today = attention_items.spend_view(today)
    stopped = attention_items.no_model_calls_item(spend_today)
    items = [
        *map(attention_items.tool_call_item, unknown[:_MAX_ITEMS]),
        *map(attention_items.unanswered_call_item, unanswered[:_MAX_ITEMS]),
        *map(attention_items.stuck_reply_item, stuck[:_MAX_ITEMS]),
        *map(attention_items.waiting_reply_item, waiting[:_MAX_ITEMS]),
        *map(attention_items.failed_turn_item, parked[:_MAX_ITEMS]),
        *map(attention_items.notification_item, undelivered[:_MAX_ITEMS]),
        *map(attention_items.failing_loop_item, failing[:_MAX_ITEMS]),
        *map(attention_items.waiting_route_item, claims[:_MAX_ITEMS]),
        *map(attention_items.unheard_thread_item, unheard[:_MAX_ITEMS]),
    ]
    found = {"tool_calls": len(unknown), "unanswered": len(unanswered), "replies": len(stuck), "waiting": len(waiting)}
    found |= {"turns": len(parked), "notifications": len(undelivered), "agent_loops": len(failing)}
    found |= {"routes": len(claims), "unheard": len(unheard)}
    shown = {name: min(count, _MAX_ITEMS) for name, count in found.items()} | {"spend": int(stopped is not None)}
    return AttentionPageView(
        items=[*([stopped] if stopped else []), *sorted(items, key=lambda item: item.at)],
        counts=AttentionCountsView(**shown, total=sum(shown.values())),
        spend=spend_today,
        has_more=max(found.values()) > _MAX_ITEMS,
    )


@router.post("/attention/tool-calls/{call_id}")
def resolve_tool_call(call_id: UUID, body: ToolCallResolution, caller: Admin) -> ResolutionView:
    """Resolve a tool call of unknown outcome: it was done; or it was not, and runs again under the same key."""
    with caller.transaction() as tx:
        ended = calls.resolve_call(caller.principal, tx, call_id, body.resolution, caller.now)
        wake = _record_results(caller, tx, [ended] if ended else [])
        _add_audit_entry(caller, tx, "tool_call.resolved", f"tool_call:{call_id}", {"resolution": body.resolution})
    if ended:
        return _resolved("Marked as done. The conversation continues.", wake)
    message = calls.dispatch_message(caller.principal.tenant_id, call_id, int(caller.now.timestamp()))
    return _resolved("The tool call is running again.", lambda: caller.dependencies.tools_queue.send([message]))


@router.post("/attention/replies/{outbox_id}")
def resolve_reply(outbox_id: UUID, body: ReplyResolution, caller: Admin) -> ResolutionView:
    """Resolve a reply of unknown outcome: it arrived; or it did not, and is sent again or dismissed."""
    who, queue = caller.principal, caller.dependencies.outbox_queue
    with caller.transaction() as tx:
        unsent = outbox.resolve_reply(who, tx, outbox_id, body.resolution, caller.now)
        session_id = outbox.find_session_id(tx, outbox_id)
        waking = inbox_messages.settle(tx, who.tenant_id, session_id, caller.now) if session_id else None
        _add_audit_entry(caller, tx, "reply.resolved", f"outbox:{outbox_id}", {"resolution": body.resolution})
    arrived = body.resolution == "arrived"

    def wake() -> None:
        _send_wakes(caller, [waking] if waking else [])
        if unsent:
            # A held one was never tried: no new number.
            once = f"{unsent.id}:resolved:{caller.now.isoformat()}"
            queue.send([outbox.wakeup_message(who.tenant_id, unsent.session_id, unsent.id, once)])

    if unsent is None:
        return _resolved("Marked as sent." if arrived else "Dismissed. The reply will not be sent.", wake)
    return _resolved(
        "Marked as sent up to this part. The remaining parts are being sent."
        if arrived
        else "The reply is being sent again.",
        wake,
    )


@router.get("/attention/failed-replies")
def list_failed_replies(caller: Viewer, cursor: PageCursor = "", limit: Limit = 100) -> FailedReplyPageView:
    """List the replies of the last week that failed, latest first; they may be redriven, but nothing waits for it."""
    with caller.transaction() as tx:
        page = outbox.list_failed(caller.principal, tx, caller.now, limit, cursor)
    replies = list(map(attention_items.failed_reply_item, page.rows))
    return FailedReplyPageView(replies=replies, next_cursor=page.next_cursor)


@router.post("/attention/failed-replies/{outbox_id}/redrive")
def redrive_reply(outbox_id: UUID, caller: Admin) -> ResolutionView:
    """Retry sending a failed reply. Fix the cause first."""
    who, queue = caller.principal, caller.dependencies.outbox_queue
    with caller.transaction() as tx:
        unsent = outbox.redrive_reply(who, tx, outbox_id, caller.now)
        _add_audit_entry(caller, tx, "reply.redriven", f"outbox:{outbox_id}")
    once = f"{unsent.id}:redriven:{caller.now.isoformat()}"
    message = outbox.wakeup_message(who.tenant_id, unsent.session_id, unsent.id, once)
    return _resolved("The reply is being sent again.", lambda: queue.send([message]))


@router.post("/attention/turns/{turn_id}")
def resolve_turn(turn_id: UUID, body: TurnResolution, caller: Admin) -> ResolutionView:
    """Resume a failed turn where it stopped, or dismiss it; a dismissed turn stays unanswered."""
    with caller.transaction() as tx:
        turn_views.get_turn(caller.principal, tx, turn_id)  # what is not the caller's to see is not found
        if body.resolution == "dismiss":
            waking = failed_turns.dismiss_turn(caller.principal, tx, turn_id, caller.now)
            _add_audit_entry(caller, tx, "turn.dismissed", f"turn:{turn_id}")
            told = "Dismissed. The message stays unanswered."
        else:
            waking = failed_turns.redrive_turn(caller.principal, tx, turn_id, caller.now)
            _add_audit_entry(caller, tx, "turn.redriven", f"turn:{turn_id}")
            told = "The message is being answered."
    return _resolved(told, lambda: _send_wakes(caller, [waking] if waking else []))


@router.post("/attention/notifications/{notification_id}")
def resolve_notification(notification_id: UUID, body: NotificationResolution, caller: Admin) -> ResolutionView:
    """Send a notification that was not delivered again, or dismiss it."""
    with caller.transaction() as tx:
        work = notifications.resolve_problem(caller.principal, tx, notification_id, body.resolution, caller.now)
        details: JsonObject = {"resolution": body.resolution}
        _add_audit_entry(caller, tx, "notification.resolved", f"notification:{notification_id}", details)
    if work is None:
        return _resolved("Dismissed. Nobody is notified.")
    queue = caller.dependencies.wakeup_queue
    return _resolved("The notification is being sent again.", lambda: work_due.send_wakeup(queue, work, caller.now))


@router.post("/tool-calls/{call_id}/cancel")
def cancel_tool_call(call_id: UUID, caller: Admin) -> ResolutionView:
    """Stop a heavy tool call; the conversation is told, and its result is not awaited any more."""
    with caller.transaction() as tx:
        ended = calls.cancel_call(caller.principal, tx, call_id, caller.now)
        wake = _record_results(caller, tx, [ended] if ended else [])
        _add_audit_entry(caller, tx, "tool_call.cancelled", f"tool_call:{call_id}")
    if ended and ended.state == "unknown":
        return _resolved("It was too late to cancel, and the result is unknown. Check the other system.", wake)
    return _resolved("Cancelled." if ended else "Cancelling. This takes about a second.", wake)


@router.post("/sessions/{session_id}/cancel")
def cancel_session_tool_calls(session_id: UUID, caller: AnyCaller) -> CancelledToolCallsView:
    """Stop the heavy tool calls of a session: of one's own, or as an administrator of the tenant."""
    if caller.principal.kind != "user":
        roles.require_role(caller.principal, "admin")
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        amount, ended = calls.cancel_session_calls(tx, session_id, caller.now)
        wake = _record_results(caller, tx, ended)
        if amount and caller.principal.kind != "user":
            _add_audit_entry(caller, tx, "session.cancelled", f"session:{session_id}", {"tool_calls": amount})
    told = "Nothing is running." if not amount else f"{amount} tool call{'' if amount == 1 else 's'} cancelled."
    resolved = _resolved(told, wake)
    return CancelledToolCallsView(message=resolved.message, queued=resolved.queued, tool_calls=amount)


def _filter_readable[Item: (UnknownCall, UnansweredCall, StuckReply, WaitingReply)](
    who: Principal, tx: Transaction, found: Sequence[Item]
) -> list[Item]:
    """Return what they may see: a conversation with somebody of more clearance may contain more."""
    sessions = {one.session_id for one in found}
    shown = {session_id for session_id in sessions if users.can_read_session(who, tx, session_id)}
    return [one for one in found if one.session_id in shown]


def _record_results(caller: Caller, tx: Transaction, ended: Sequence[EndedCall]) -> WakeFunction | None:
    """Write what the calls came to into their conversations; waking those is for after the commit."""
    who = caller.principal
    stored = [tool_result_messages.store_tool_result(tx, who.tenant_id, one, caller.now) for one in ended]
    waking = [one for one in stored if one]
    return (lambda: _send_wakes(caller, waking)) if waking else None


def _send_wakes(caller: Caller, waking: Sequence[PendingWakeup]) -> None:
    for one in waking:
        caller.dependencies.turn_queues[one.queue_channel].send([one.message])


def _add_audit_entry(
    caller: Caller, tx: Transaction, action: str, target: str, details: JsonObject | None = None
) -> None:
    audit.add_entry(caller.principal, tx, action, target, details or {}, caller.now)


def _resolved(message: str, wake: WakeFunction | None = None) -> ResolutionView:
    """Return the answer to a committed decision; it says when waking is left to the sweep."""
    try:
        if wake:
            wake()
    except QueueUnavailable as problem:
        log.warning("wake_failed", code=problem.code)
        return ResolutionView(message=f"{message} {_WAKE_DEFERRED}", queued=False)
    return ResolutionView(message=message, queued=True)
