"""Rows of a turn, one frozen record each; `store` reads and writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal
from uuid import UUID

from parlour.channels.envelope import Channel
from parlour.infra.json_values import JsonObject


@dataclass(frozen=True, slots=True)
class Lease:
    """A session leased for one turn; until `expires_at`, if nobody renews it.

    token              the fencing token: higher than every token before.
    holder_id          the worker; a lease it took by a statement whose answer was lost is still its own.
    last_event_number  the number of the feed's newest event.
    entity_id          the record that the session is about.
    address            the hash of the network address that its user wrote from last; "" when it is not known.
    was_handed_over    whether another binding than its door's has answered in it.
    instruction        what a person told the agent when handing the session back.
    has_open_questions  whether a person was asked about a call and has not answered yet.
    is_by_phone        whether a phone writes in it.
    """

    id: UUID
    user_id: UUID
    binding_id: UUID
    channel: str
    token: int
    expires_at: datetime
    holder_id: UUID
    last_event_number: int
    entity_id: UUID | None = None
    address: str = ""
    was_handed_over: bool = False
    instruction: str | None = None
    has_open_questions: bool = False
    is_by_phone: bool = True


type AgentState = Literal["thinking", "executing", "waiting"]
"""What an agent does: asks a model, runs tools, or waits for a person or a long tool."""

type StopCause = Literal["user", "member", "word", "message"]
"""Who or what stopped a turn: its user, a member of the tenant, a stop word on messaging, a newer message."""


@dataclass(frozen=True, slots=True)
class UnreadAnswer:
    """A message that no turn has read yet and that may answer a question.

    button_id  "" for a text.
    is_next    whether it is the first message after the questions were put to the user.
    """

    id: UUID
    body: str
    button_id: str
    is_next: bool


@dataclass(frozen=True, slots=True)
class PressedButton:
    """An input message of a turn with its button; "" for a text."""

    id: UUID
    button_id: str


@dataclass(frozen=True, slots=True)
class LockedSession:
    """A session that is looked at: its channel, and until when a worker has it."""

    channel: str
    lease_until: datetime | None


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn being run: its number in the session, how often it was begun, its frozen moment, whether it was
    opened just now (then there is nothing to resume), the binding that answers it, and whether it is to end."""

    id: UUID
    number: int
    attempt_count: int
    frozen_at: datetime
    is_new: bool
    binding_id: UUID
    stop_cause: StopCause | None = None


@dataclass(frozen=True, slots=True)
class PassedFence:
    """A write that the session's lease allows; `stop_cause` is why the turn is to end."""

    stop_cause: StopCause | None


@dataclass(frozen=True, slots=True)
class ClosedTurn:
    """A turn that is over; `has_pending_wake`: another worker left a wake of the session to the one that ran it."""

    has_pending_wake: bool


@dataclass(frozen=True, slots=True)
class StopRequestRow:
    """A turn that is to end: its state, and the tool of a write that is under way ("" for none)."""

    state: Literal["open", "answered", "failed", "stopped"]
    running_write: str


@dataclass(frozen=True, slots=True)
class InboundMessage:
    """A message that a turn answers; `address` is where a reply on its channel goes, None when unknown; `attached` the
    rows of what came with it (`turns/attached.py`); `joined_step` the step after which it joined
    the turn while that ran."""

    id: UUID
    channel: str
    kind: str
    body: str
    received_at: datetime
    reply_address: str | None = None
    attachments: list[JsonObject] | None = None
    joined_step: int | None = None


@dataclass(frozen=True, slots=True)
class StepRow:
    """A model inference; `blocks` is None until its answer is committed."""

    number: int
    blocks: list[JsonObject] | None
    stop_reason: str | None


@dataclass(frozen=True, slots=True)
class AnsweringSession:
    """A session that is to be handed over, locked: whose it is, its door and who answers in it now."""

    id: UUID
    user_id: UUID
    binding_id: UUID
    answering_id: UUID
    token: int


@dataclass(frozen=True, slots=True)
class HandoffCounts:
    """What the rules need to know of a session's handoffs.

    recent          handoffs since the last so many messages of the user.
    messages_since  messages of the user since the last handoff; None: there was none.
    """

    recent: int
    messages_since: int | None


@dataclass(frozen=True, slots=True)
class HandoffRow:
    """A handoff: from and to whom, why, and what the new binding is told."""

    id: UUID
    from_name: str
    to_slug: str
    to_name: str
    reason: str
    brief: str
    classification: int


@dataclass(frozen=True, slots=True)
class TurnHandoff:
    """The handoff that a turn's model asked for. call_id: of the tool call."""

    id: UUID
    call_id: UUID
    from_name: str
    to_name: str


@dataclass(frozen=True, slots=True)
class FinishedCallRow:
    """A finished tool call."""

    step: int
    call_id: str
    result: JsonObject


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """What is known of a message once it is stored.

    is_quiet  whether it was new, no turn was open, and nothing was written in the `BURST_WINDOW` before it.
    """

    id: UUID
    session_id: UUID
    state: str
    wake_group: int
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class WritableSession:
    """A session its user may write to."""

    id: UUID
    binding_id: UUID
    channel: str
    team_id: UUID


@dataclass(frozen=True, slots=True)
class PendingUpload:
    """Something uploaded in a session; `is_sent` once a message came with it."""

    id: UUID
    name: str
    object_key: str
    is_sent: bool


@dataclass(frozen=True, slots=True)
class NewUpload:
    """A file that a visitor is about to upload, to be sent with a message."""

    id: UUID
    name: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class NewAttachment:
    """What is about to be sent along with a message: an image by its key, or a text by its words."""

    id: UUID
    kind: str
    name: str
    media_type: str
    size_bytes: int
    object_key: str | None = None
    sha256: str | None = None
    body: str | None = None
    file_id: UUID | None = None
    file_version: int | None = None
    classification: int = 0


@dataclass(frozen=True, slots=True)
class NewMessage:
    """An inbound message about to be stored."""

    id: UUID
    session_id: UUID
    binding_id: UUID
    state: str
    channel: str
    kind: str
    body: str
    media: JsonObject | None
    provider_message_id: str
    sent_at: datetime
    received_at: datetime
    metadata: JsonObject
    due_at: datetime


@dataclass(frozen=True, slots=True)
class SessionQueue:
    """A session, the channel whose queue wakes it, and the number of its group there."""

    session_id: UUID
    channel: str
    wake_group: int


@dataclass(frozen=True, slots=True)
class StoredToolResult:
    """Where a tool call's result was stored; is_stopped: no turn answers it, as the asking one was stopped.

    channel, wake_group  as in `SessionQueue`.
    """

    session_id: UUID
    channel: str
    wake_group: int
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class ReplyAddress:
    """Where a message that nobody's turn writes goes: the channel that the user wrote on last, and their address there.

    session_channel   the channel whose queue wakes the session, in the FIFO group `wake_group`.
    last_inbound_at   when the user last wrote on the channel.
    channel_settings  the binding's settings of the channel.
    """

    tenant_id: UUID
    binding_id: UUID
    session_channel: str
    wake_group: int
    channel: str
    address: str | None
    last_inbound_at: datetime | None
    channel_settings: JsonObject | None


@dataclass(frozen=True, slots=True)
class InboxTrigger:
    """What of a turn's tool calls needs a person. asked_reason: the model's own words; the others name tools.

    approval_tool  a call about which members are asked.
    """

    asked_reason: str | None = None
    unknown_tool: str | None = None
    approval_tool: str | None = None
    failed_tool: str | None = None


@dataclass(frozen=True, slots=True)
class FailedTurn:
    """A turn that failed: its messages are unanswered until somebody redrives or dismisses it."""

    id: UUID
    session_id: UUID
    channel: Channel
    binding: str
    problem: str | None
    attempt_count: int
    finished_at: datetime
    message_texts: list[str]


@dataclass(frozen=True, slots=True)
class LlmCall:
    """One call to a provider, with what it cost; `cost_usd` is None when its price is not known."""

    id: UUID
    session_id: UUID
    turn_id: UUID
    step: int
    binding_id: UUID
    provider: str
    model: str
    outcome: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    tokens_by_layer: JsonObject
    cost_usd: Decimal | None
    cache_miss: JsonObject | None
    first_token_ms: int | None
    latency_ms: int
    at: datetime


@dataclass(frozen=True, slots=True)
class NewReply:
    """A reply about to be stored.

    metadata  {removed_citations: number}, where some were removed; {cited_numbers: [number]} of its sources, as its
              reader counts them (`parlour.text.citation_markers`); {buttons: [...]} of a question.
    """

    id: UUID
    channel: str
    body: str
    metadata: JsonObject
    at: datetime


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ends.

    problem      a code for operators, with details after a colon; None when all went well.
    called       the turn's tool calls, as messages of the history that later turns read.
    cache_state  of the session's prompts, for its next one; None keeps the one that is stored.
    """

    state: str
    at: datetime
    degraded: bool = False
    problem: str | None = None
    called: tuple[JsonObject, ...] = ()
    cache_state: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that a reply cites, as it was called then."""

    message_id: UUID
    number: int
    row_id: UUID
    title: str
    locator: str


@dataclass(frozen=True, slots=True)
class AnsweringTurn:
    """The turn that answers an inbound message, once one took it.

    tool_call_id  of a tool's result.
    answers       the call that the message answered a question about; the message has no turn then.
    """

    tool_call_id: str | None
    answers: str | None
    turn_id: UUID | None
    turn_state: str


@dataclass(frozen=True, slots=True)
class AskedCall:
    """The number of the event that told of a call about which a person is asked."""

    approval_id: UUID
    event_number: int


@dataclass(frozen=True, slots=True)
class ReplyText:
    """The text of a reply, and the numbers of what it cites, as its reader counts them."""

    text: str
    cited_numbers: list[int]


@dataclass(frozen=True, slots=True)
class Event:
    """One numbered event of a session's feed."""

    number: int
    kind: str
    payload: JsonObject
    turn_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class FeedEnd:
    """The number of a session's newest event."""

    session_id: UUID
    last_event_number: int


@dataclass(frozen=True, slots=True)
class SessionReader:
    """Who reads sessions: a user, only their own; with no user_id, whoever may see what `clearance` covers.

    sees_reasoning  whether they see what a model thought: members do, also as the user that they talk as.
    """

    user_id: UUID | None
    clearance: int
    sees_reasoning: bool = False


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn with everything an operator sees of it."""

    id: UUID
    session_id: UUID
    number: int
    state: str
    binding: str
    channel: str
    frozen_at: datetime
    finished_at: datetime | None
    degraded: bool
    attempt_count: int
    problem: str | None
    stage_ms: dict[str, int]
    input_messages: list[JsonObject]
    reply: JsonObject | None
    model_calls: list[JsonObject]
    tool_calls: list[JsonObject]
    delivery: JsonObject | None

    @property
    def tokens_by_layer(self) -> dict[str, int]:
        """Tokens of the last answered prompt by layer, as the budget counts them."""
        layers = self._last_answered["tokens_by_layer"] if self._last_answered else {}
        return {layer: int(str(tokens)) for layer, tokens in layers.items()} if isinstance(layers, dict) else {}

    @property
    def last_prompt_tokens(self) -> int:
        """Tokens of the last answered prompt, as the provider counted them."""
        return int(str(self._last_answered["prompt_tokens"])) if self._last_answered else 0

    @property
    def _last_answered(self) -> JsonObject | None:
        return next((call for call in reversed(self.model_calls) if call["outcome"] == "ok"), None)

    @property
    def total_prompt_tokens(self) -> int:
        """Tokens of all prompts of the turn, as the provider counted them."""
        return _sum_of(self.model_calls, "prompt_tokens")

    @property
    def total_output_tokens(self) -> int:
        """Tokens of all answers of the model, as the provider counted them."""
        return _sum_of(self.model_calls, "output_tokens")

    @property
    def model_ms(self) -> int:
        """Milliseconds that the turn waited for the model."""
        return self.stage_ms.get("model", 0)

    @property
    def total_ms(self) -> int | None:
        """Milliseconds from the receipt of the first message to the stored reply; None while the turn is open."""
        if self.finished_at is None:
            return None
        return self.stage_ms.get("wait", 0) + (self.finished_at - self.frozen_at) // timedelta(milliseconds=1)

    @property
    def cost_usd(self) -> Decimal | None:
        """US dollars, summed over the turn's model calls; None when no call has a known price."""
        costs = [Decimal(str(call["cost_usd"])) for call in self.model_calls if call["cost_usd"] is not None]
        return sum(costs, Decimal(0)) if costs else None


def _sum_of(calls: Sequence[JsonObject], name: str) -> int:
    return sum(int(str(call[name])) for call in calls)


@dataclass(frozen=True, slots=True)
class TranscriptRow:
    """One message of a session as its user sees it; `is_stopped`: the reply of a turn that somebody stopped."""

    id: UUID
    direction: str
    channel: str
    kind: str
    text: str
    at: datetime
    turn_id: UUID | None
    cited_numbers: list[int]
    citations: list[JsonObject]
    attachments: list[JsonObject]
    answered_by: str
    is_stopped: bool = False
