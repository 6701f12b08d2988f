"""What needs a person, in sentences: what happened, why, and what to do next. Pure."""

from collections.abc import Mapping
from typing import Any

from parlour.api.attention_schemas import (
    AgentLoopReasonView,
    DeliveryReasonView,
    FailedNotificationView,
    FailedReplyView,
    FailedTurnView,
    FailingAgentLoopView,
    HeldReplyView,
    NoModelCallsView,
    NotificationReasonView,
    RouteReasonView,
    SpendReasonView,
    SpendTodayView,
    ToolReasonView,
    TurnReasonView,
    UnansweredCallReasonView,
    UnansweredToolCallView,
    UnheardConversationView,
    UnheardReasonView,
    UnknownDeliveryView,
    UnknownToolCallView,
    WaitingReplyView,
    WaitingRouteView,
)
from parlour.channels import delivery_problem
from parlour.channels.outbox import StuckReply, WaitingReply
from parlour.conversations.failed_turns import TurnProblemCode
from parlour.conversations.rows import FailedTurn
from parlour.inbox.threads import UnheardThread
from parlour.models.agent_loops import FailingLoop
from parlour.models.spend import SpendToday
from parlour.notifications.notifications import NotificationProblem
from parlour.tenancy.routing_keys import WaitingClaim
from parlour.tools.calls import UnansweredCall, UnknownCall

#: Of a phone number that are shown, so that people recognise it.
_SHOWN_DIGITS = 4
_FULL_PERCENT = 100

_TURN_REASONS: Mapping[TurnProblemCode, str] = {
    "unexpected_error": "An unexpected error occurred in each of {} attempts. The log has its details.",
    "too_many_attempts": "The worker stopped in each of {} attempts before it could answer.",
}

#: Why a reply waits and what to do, by code. A code that is missing here has a message that says why.
_WAITING_TEXTS: Mapping[str, tuple[str, str]] = {
    "missing_secret": ("Waiting for the secret {name}.", "Store it: `parlour secrets set {name}`."),
    "key_refused": (
        "The provider refuses the key in the secret {name}. {provider_message}",
        "Store the right key: `parlour secrets set {name}`.",
    ),
    "provider_unavailable": (
        "Waiting for the provider. {provider_message}",
        "If it lasts, check the provider's status page.",
    ),
    "secret_unavailable": ("Waiting: the secret store does not answer.", "If it lasts, run `parlour doctor`."),
    "delayed": ("No attempt to send it has ended yet.", "If it lasts, run `parlour doctor`."),
}


def tool_call_item(call: UnknownCall) -> UnknownToolCallView:
    """Return a tool call of unknown outcome."""
    return UnknownToolCallView(
        kind="unknown_tool_call",
        id=call.id,
        turn_id=call.turn_id,
        session_id=call.session_id,
        tool=call.name,
        arguments=call.arguments,
        runs=call.runs,
        at=call.started_at,
        what_happened=f"The tool {call.name} was called, and its result is unknown.",
        reason=ToolReasonView(
            code="outcome_unknown",
            message="The connection broke, the tool took too long, or the worker stopped before the result arrived.",
        ),
        what_to_do="Check the other system. Mark the call as done, or run it again with the same idempotency key.",
        resolutions=["done", "run_again"],
    )


def unanswered_call_item(call: UnansweredCall) -> UnansweredToolCallView:
    """Return a tool call whose worker stopped before an outcome."""
    return UnansweredToolCallView(
        kind="unanswered_tool_call",
        id=call.id,
        turn_id=call.turn_id,
        session_id=call.session_id,
        tool=call.name,
        arguments=call.arguments,
        runs=call.runs,
        at=call.started_at,
        what_happened=f"The tool {call.name} was called, and there is no answer yet.",
        reason=UnansweredCallReasonView(
            code="worker_stopped", message="The worker that called it stopped. Another one finds out what became of it."
        ),
        what_to_do="Wait some seconds. If it lasts, run `parlour doctor`.",
    )


def stuck_reply_item(reply: StuckReply) -> UnknownDeliveryView | HeldReplyView:
    """Return a reply that waits for a decision."""
    if reply.state == "held":
        return HeldReplyView(
            kind="held_reply",
            what_happened="The reply was not sent.",
            what_to_do="Ask the user to write again, or give the binding a template for replies; then send it. Or "
            "dismiss it.",
            resolutions=["send_again", "dismiss"],
            **_reply_fields(reply),
        )
    return UnknownDeliveryView(
        kind="unknown_delivery",
        what_happened="The reply may have arrived.",
        what_to_do="Check the phone or the provider's console. Mark it as arrived, send it again, or dismiss it.",
        resolutions=["arrived", "send_again", "dismiss"],
        **_reply_fields(reply),
    )


def waiting_reply_item(reply: WaitingReply) -> WaitingReplyView:
    """Return a reply that waits for another attempt."""
    fields = _reply_fields(reply)
    reason: DeliveryReasonView = fields.pop("reason")
    message, next_step = _WAITING_TEXTS.get(reason.code, (reason.message, "Fix the binding and apply the pack."))
    name = reply.secret_name or "that the binding has to name"
    return WaitingReplyView(
        kind="waiting_reply",
        what_happened="The reply is not sent yet.",
        reason=DeliveryReasonView(code=reason.code, message=message.format(name=name, provider_message=reason.message)),
        what_to_do=f"{next_step.format(name=name)} The reply is then sent by itself.",
        attempts=reply.attempts,
        next_attempt_by=reply.next_attempt_by,
        **fields,
    )


def failed_reply_item(reply: StuckReply) -> FailedReplyView:
    """Return a reply that failed."""
    return FailedReplyView(
        kind="failed_reply",
        what_happened="The reply was not delivered.",
        what_to_do="Fix the cause. Then retry sending.",
        **_reply_fields(reply),
    )


def notification_item(problem: NotificationProblem) -> FailedNotificationView:
    """Return a notification that was not delivered."""
    medium = {"email": "e-mail", "webhook": "webhook", "chatwoot": "Chatwoot"}[problem.medium]
    ending = "may have arrived" if problem.state == "unknown" else "was not delivered"
    return FailedNotificationView(
        kind="failed_notification",
        id=problem.id,
        session_id=problem.session_id,
        medium=problem.medium,
        recipient=problem.recipient,
        at=problem.created_at,
        what_happened=f"The notification by {medium} {ending}.",
        reason=NotificationReasonView(code=problem.state, message=problem.problem),
        what_to_do="Check the address in the binding or the member. Then send it again, or dismiss it.",
        resolutions=["send_again", "dismiss"],
    )


def _reply_fields(reply: StuckReply) -> dict[str, Any]:
    problem = delivery_problem.read_problem(reply.state, reply.problem)
    return {
        "id": reply.id,
        "turn_id": reply.turn_id,
        "session_id": reply.session_id,
        "channel": reply.channel,
        "recipient": f"…{reply.recipient[-_SHOWN_DIGITS:]}",
        "text": reply.text,
        "at": reply.created_at,
        "reason": DeliveryReasonView.model_validate(problem),
    }


def failed_turn_item(turn: FailedTurn) -> FailedTurnView:
    """Return a turn that failed."""
    code: TurnProblemCode = "too_many_attempts" if turn.problem == "too_many_attempts" else "unexpected_error"
    return FailedTurnView(
        kind="failed_turn",
        id=turn.id,
        turn_id=turn.id,
        session_id=turn.session_id,
        channel=turn.channel,
        binding=turn.binding,
        texts=turn.message_texts,
        attempts=turn.attempt_count,
        at=turn.finished_at,
        what_happened="The turn failed. What the user wrote is unanswered.",
        reason=TurnReasonView(code=code, message=_TURN_REASONS[code].format(turn.attempt_count)),
        what_to_do="Answer now: it resumes where it stopped, and completed steps are not repeated. Or dismiss it.",
        resolutions=["redrive", "dismiss"],
    )


def failing_loop_item(loop: FailingLoop) -> FailingAgentLoopView:
    """Return an agent loop of the pack whose last call failed."""
    if loop.outcome == "rejected":
        reason = AgentLoopReasonView(code="rejected", message="The pack's function is missing, or may not be called.")
        next_step = "Deploy it: `parlour functions deploy PACK`."
    else:
        reason = AgentLoopReasonView(
            code="unavailable", message="Its code raised an error, ended, took too long, or gave no reply."
        )
        next_step = "Read the log of the pack's function, correct the code, then run `parlour functions deploy PACK`."
    return FailingAgentLoopView(
        kind="failing_agent_loop",
        binding=loop.binding,
        function=loop.function,
        at=loop.at,
        what_happened=f"The agent loop {loop.function} failed when it was last called.",
        reason=reason,
        what_to_do=next_step,
    )


def waiting_route_item(claim: WaitingClaim) -> WaitingRouteView:
    """Return a host or number that waits for the operator."""
    return WaitingRouteView(
        kind="waiting_route",
        binding=claim.binding,
        key=claim.key,
        at=claim.claimed_at,
        what_happened=f"{claim.key} does not lead to {claim.binding} yet.",
        reason=RouteReasonView(
            code="not_accepted",
            message="The deployment has several tenants, and its operator has not accepted the claim.",
        ),
        what_to_do=f"Ask the operator to run `parlour routes accept {claim.key}`. Until then, messages to a number are "
        "kept as dead letters of the queue intake.",
    )


def unheard_thread_item(thread: UnheardThread) -> UnheardConversationView:
    """Return a conversation that waits for a person while nobody was notified."""
    return UnheardConversationView(
        kind="unheard_conversation",
        session_id=thread.session_id,
        binding=thread.binding,
        at=thread.opened_at,
        what_happened=f"A conversation with {thread.binding} waits for a person.",
        reason=UnheardReasonView(
            code="nobody_notified",
            message="Nobody was notified: the binding has no `inbox`, and its `notifications` reach nobody.",
        ),
        what_to_do="Answer it in the inbox. Then say in the binding's `notifications` who is told, and apply the pack.",
    )


def spend_view(today: SpendToday) -> SpendTodayView:
    """Return today's spend.

    A call is refused when its worst case does not fit, which may be well short of the cap. People were warned of 100 %
    then, but half of a cap that was raised since is not reached.
    """
    return SpendTodayView(
        spent_usd=today.spent_usd,
        reserved_usd=today.reserved_usd,
        cap_usd=today.cap_usd,
        stopped=today.is_stopped,
        cap_reached=today.warned_percent >= _FULL_PERCENT and today.spent_usd * 2 >= today.cap_usd,
    )


def no_model_calls_item(spend: SpendTodayView) -> NoModelCallsView | None:
    """Return that no model is called and why; None while they are called."""
    if spend.stopped:
        reason = SpendReasonView(code="spend_stopped", message="Model calls are switched off.")
        next_step = "Switch model calls on again."
    elif spend.cap_reached:
        reason = SpendReasonView(code="cap_reached", message="Today's cap is reached.")
        next_step = "Raise the cap, or wait until 0:00 UTC."
    else:
        return None
    return NoModelCallsView(
        kind="no_model_calls", what_happened="Users get a canned reply.", reason=reason, what_to_do=next_step
    )
