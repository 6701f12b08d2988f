"""What needs a person, as it goes out as JSON: what happened, why, and what to do next."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from parlour.api.schemas import ResponseModel, UsdAmount
from parlour.channels.delivery_problem import DeliveryProblemCode
from parlour.channels.envelope import Channel
from parlour.conversations.failed_turns import TurnProblemCode


class _ExplainedView(ResponseModel):
    """An item in sentences for its reader."""

    what_happened: str
    what_to_do: str


class ToolReasonView(ResponseModel):
    """Why the outcome of a tool call is unknown."""

    code: Literal["outcome_unknown"]
    message: str


class DeliveryReasonView(ResponseModel):
    """Why a reply was not delivered; the message is in part the provider's."""

    code: DeliveryProblemCode
    message: str


class TurnReasonView(ResponseModel):
    """Why a turn failed."""

    code: TurnProblemCode
    message: str


class SpendReasonView(ResponseModel):
    """Why no model is called."""

    code: Literal["spend_stopped", "cap_reached"]
    message: str


class UnknownToolCallView(_ExplainedView):
    """A tool call that may have been done. `runs`: how often it was started."""

    kind: Literal["unknown_tool_call"]
    id: UUID
    turn_id: UUID
    session_id: UUID
    tool: str
    arguments: dict[str, JsonValue]
    runs: int
    at: datetime
    reason: ToolReasonView
    resolutions: list[Literal["done", "run_again"]]


class UnansweredCallReasonView(ResponseModel):
    """Why a tool call has no outcome yet."""

    code: Literal["worker_stopped"]
    message: str


class UnansweredToolCallView(_ExplainedView):
    """A tool call that began, and whose worker stopped before an outcome; another finds out what became of it. `runs`:
    how often it was started."""

    kind: Literal["unanswered_tool_call"]
    id: UUID
    turn_id: UUID
    session_id: UUID
    tool: str
    arguments: dict[str, JsonValue]
    runs: int
    at: datetime
    reason: UnansweredCallReasonView


class _StuckReplyView(_ExplainedView):
    """A reply that was not delivered, or may not have been. Of the recipient's number only the last digits are shown;
    the text of a sign-in code is not."""

    id: UUID
    turn_id: UUID | None
    session_id: UUID
    channel: Channel
    recipient: str
    text: str
    at: datetime
    reason: DeliveryReasonView


class UnknownDeliveryView(_StuckReplyView):
    """A reply that may have arrived."""

    kind: Literal["unknown_delivery"]
    resolutions: list[Literal["arrived", "send_again", "dismiss"]]


class HeldReplyView(_StuckReplyView):
    """A reply that the channel takes no longer as free text."""

    kind: Literal["held_reply"]
    resolutions: list[Literal["send_again", "dismiss"]]


class WaitingReplyView(_StuckReplyView):
    """A reply that is not sent yet. It is retried by itself and leaves the list once it is sent.

    attempts         how often it was tried; an attempt with a missing or refused key does not count.
    next_attempt_by  the latest time of the next attempt.
    """

    kind: Literal["waiting_reply"]
    attempts: int
    next_attempt_by: datetime


class FailedReplyView(_StuckReplyView):
    """A reply that was not delivered, and may be redriven."""

    kind: Literal["failed_reply"]


class FailedTurnView(_ExplainedView):
    """A turn that failed; its messages (`texts`) are unanswered."""

    kind: Literal["failed_turn"]
    id: UUID
    turn_id: UUID
    session_id: UUID
    channel: Channel
    binding: str
    texts: list[str]
    attempts: int
    at: datetime
    reason: TurnReasonView
    resolutions: list[Literal["redrive", "dismiss"]]


class NotificationReasonView(ResponseModel):
    """Why a notification was not delivered; the message is in part the mail server's or the receiver's."""

    code: Literal["failed", "unknown"]
    message: str


class FailedNotificationView(_ExplainedView):
    """A notification of the inbox that was not delivered, or may not have been."""

    kind: Literal["failed_notification"]
    id: UUID
    session_id: UUID
    medium: Literal["email", "webhook", "chatwoot"]
    recipient: str
    at: datetime
    reason: NotificationReasonView
    resolutions: list[Literal["send_again", "dismiss"]]


class AgentLoopReasonView(ResponseModel):
    """Why an agent loop gave no reply: its code failed, or it cannot be called."""

    code: Literal["unavailable", "rejected"]
    message: str


class FailingAgentLoopView(_ExplainedView):
    """An agent loop of the pack whose last call failed; the item goes with the next call that succeeds.

    function  `module.name` in the pack's folder `functions`.
    """

    kind: Literal["failing_agent_loop"]
    binding: str
    function: str
    at: datetime
    reason: AgentLoopReasonView


class RouteReasonView(ResponseModel):
    """Why a host or number leads nowhere."""

    code: Literal["not_accepted"]
    message: str


class WaitingRouteView(_ExplainedView):
    """A host or number of the pack that leads nowhere until the operator accepts it. key: like `whatsapp:12345`."""

    kind: Literal["waiting_route"]
    binding: str
    key: str
    at: datetime
    reason: RouteReasonView


class UnheardReasonView(ResponseModel):
    """Why nobody hears of a conversation."""

    code: Literal["nobody_notified"]
    message: str


class UnheardConversationView(_ExplainedView):
    """A conversation that waits for a person while nobody was notified; it goes once a person takes it."""

    kind: Literal["unheard_conversation"]
    session_id: UUID
    binding: str
    at: datetime
    reason: UnheardReasonView


class NoModelCallsView(_ExplainedView):
    """Model calls are switched off, or today's cap is reached; it ends with the switch, the cap or the day."""

    kind: Literal["no_model_calls"]
    reason: SpendReasonView


AttentionItem = Annotated[
    UnknownToolCallView
    | UnansweredToolCallView
    | UnknownDeliveryView
    | HeldReplyView
    | WaitingReplyView
    | FailedTurnView
    | FailedNotificationView
    | FailingAgentLoopView
    | WaitingRouteView
    | UnheardConversationView
    | NoModelCallsView,
    Field(discriminator="kind"),
]


class SpendTodayView(ResponseModel):
    """Today's spend of the tenant. `reserved_usd` is the worst case of the calls that are running."""

    spent_usd: UsdAmount
    reserved_usd: UsdAmount
    cap_usd: UsdAmount
    stopped: bool
    cap_reached: bool


class AttentionCountsView(ResponseModel):
    """How many items are listed. `waiting` replies and `unanswered` calls go on by themselves; `tool_calls` and
    `replies` wait for a decision."""

    tool_calls: int
    unanswered: int
    replies: int
    waiting: int
    turns: int
    notifications: int
    agent_loops: int
    routes: int
    unheard: int
    spend: int
    total: int


class AttentionPageView(ResponseModel):
    """Everything that needs a person, oldest first after `no_model_calls`. `has_more`: of a kind more items exist than
    are listed."""

    items: list[AttentionItem]
    counts: AttentionCountsView
    spend: SpendTodayView
    has_more: bool


class FailedReplyPageView(ResponseModel):
    """Some failed replies of the last week, latest first; `next_cursor` reads on, "" when these are the last."""

    replies: list[FailedReplyView]
    next_cursor: str


class ResolutionView(ResponseModel):
    """A decision that was stored. `queued` is false while the queue is unavailable; the sweep then continues."""

    message: str
    queued: bool


class CancelledToolCallsView(ResolutionView):
    """How many tool calls of a session were cancelled."""

    tool_calls: int
