"""The events of a session as they go out as JSON, listed or streamed: a union by kind."""

from datetime import datetime
from typing import Annotated, Literal, Protocol
from uuid import UUID

from pydantic import Field, JsonValue, TypeAdapter

from parlour.api.schemas import ResponseModel
from parlour.infra.json_values import JsonObject


class Event(Protocol):
    """A numbered event of a session's feed."""

    @property
    def number(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> JsonObject: ...
    @property
    def turn_id(self) -> UUID: ...
    @property
    def at(self) -> datetime: ...


class _EventView(ResponseModel):
    number: int
    turn_id: UUID
    at: datetime


class TurnStarted(ResponseModel):
    """A turn began to answer; `number` is its place in the session, `answered_by` the agent's name."""

    turn_id: UUID
    number: int
    answered_by: str = ""


class TurnStartedEvent(_EventView):
    """A turn began."""

    kind: Literal["session"]
    payload: TurnStarted


class ContextUsage(ResponseModel):
    """The prompt of a step: its tokens by layer, its budget, and the share that the provider has cached."""

    step: int
    tokens: int
    budget: int
    tokens_by_layer: dict[str, int]
    cached_share: float


class ContextUsageEvent(_EventView):
    """A prompt was assembled."""

    kind: Literal["context_usage"]
    payload: ContextUsage


class TextReset(ResponseModel):
    """The step whose text begins again."""

    step: int


class TextResetEvent(_EventView):
    """An attempt of the step failed: drop the text and the reasoning of its block, and nothing else."""

    kind: Literal["text_reset"]
    payload: TextReset


class TextDelta(ResponseModel):
    """A piece of the reply; `block`: the step that writes it. The reply is the text of all blocks, each a paragraph."""

    text: str
    block: int = 1


class TextDeltaEvent(_EventView):
    """The reply goes on."""

    kind: Literal["text_delta"]
    payload: TextDelta


class ReasoningDelta(ResponseModel):
    """A piece of what the model thinks; `block`: the step that thinks."""

    text: str
    block: int


class ReasoningDeltaEvent(_EventView):
    """The model thinks before it answers. For members: it is no part of the reply."""

    kind: Literal["reasoning_delta"]
    payload: ReasoningDelta


class ReasoningEnd(ResponseModel):
    """The step that has thought, and for how long."""

    block: int
    milliseconds: int


class ReasoningEndEvent(_EventView):
    """The model has thought, and goes on with its answer or a call."""

    kind: Literal["reasoning_end"]
    payload: ReasoningEnd


class MessagesJoined(ResponseModel):
    """The messages that the running turn answers, too."""

    message_ids: list[UUID]


class MessagesJoinedEvent(_EventView):
    """Messages that came while the turn ran joined it: no later turn answers them."""

    kind: Literal["messages_joined"]
    payload: MessagesJoined


class ToolCallStarted(ResponseModel):
    """The tool's name, and the call's id in its turn."""

    name: str
    call_id: str = ""


class ToolCallEvent(_EventView):
    """A tool is called."""

    kind: Literal["tool_call"]
    payload: ToolCallStarted


class ToolResult(ResponseModel):
    """How a tool call ended; `is_running`: it did not, and its result comes later."""

    name: str
    call_id: str = ""
    ok: bool
    is_running: bool = False


class ToolResultEvent(_EventView):
    """A tool call ended."""

    kind: Literal["tool_result"]
    payload: ToolResult


class AgentStateChange(ResponseModel):
    """What the agent does: thinks, runs tools, or waits for a person."""

    state: Literal["thinking", "executing", "waiting"]


class AgentStateEvent(_EventView):
    """The agent does something else from now on."""

    kind: Literal["agent_state"]
    payload: AgentStateChange


class RecordIdentity(ResponseModel):
    """A record by its type, name, id and handle."""

    entity_type: str
    entity_name: str
    entity_id: UUID
    handle: str


class RecordOperation(ResponseModel):
    """What a built-in tool does: to a record, or with a search or list of them.

    entity_name   the record's name, or its handle while only that is known; of a search its question.
    entity_id, handle  of a record that was changed.
    relation, other_record  of a link.
    """

    action: Literal["list", "search", "read", "create", "update", "delete", "link", "unlink"]
    status: Literal["start", "success", "error"]
    entity_type: str
    entity_name: str
    entity_id: UUID | None = None
    handle: str | None = None
    relation: str | None = None
    other_record: RecordIdentity | None = None


class RecordOperationEvent(_EventView):
    """A tool did something to a record."""

    kind: Literal["operation"]
    payload: RecordOperation


class RecordState(RecordIdentity):
    """A record as it is stored now."""

    type_name: str
    version: int
    project: str | None
    classification: int
    properties: dict[str, JsonValue]
    updated_at: datetime


class RecordStateEvent(_EventView):
    """A record is new or changed."""

    kind: Literal["entity_patch"]
    payload: RecordState


class ApprovalArgument(ResponseModel):
    """An argument of a call as people read it."""

    label: str
    value: str


class ApprovalQuestion(ResponseModel):
    """A question to a person: all that a card needs; `state` is asked, or how it ended."""

    approval_id: UUID
    state: Literal["asked", "approved", "refused", "expired", "superseded", "claimed", "done"]
    text: str
    tool: str
    arguments: list[ApprovalArgument]
    options: list[str]
    approver: Literal["user", "viewer", "editor", "admin"]
    expires_at: datetime


class ApprovalEvent(_EventView):
    """A person is asked about a call, or the question was closed."""

    kind: Literal["approval"]
    payload: ApprovalQuestion


class TurnProblem(ResponseModel):
    """Why there is no usual reply: a code, and what the user reads instead."""

    code: str
    message: str


class TurnProblemEvent(_EventView):
    """The turn could not answer as usual."""

    kind: Literal["error"]
    payload: TurnProblem


class TurnDone(ResponseModel):
    """The reply's message, its turn, and how that ended; `stopped`: the reply is what there was of it."""

    message_id: UUID
    turn_id: UUID
    state: Literal["answered", "failed", "stopped"] = "answered"


class TurnDoneEvent(_EventView):
    """The turn is over, and its reply is stored."""

    kind: Literal["done"]
    payload: TurnDone


type SessionEvent = Annotated[
    TurnStartedEvent
    | AgentStateEvent
    | ContextUsageEvent
    | MessagesJoinedEvent
    | TextResetEvent
    | TextDeltaEvent
    | ReasoningDeltaEvent
    | ReasoningEndEvent
    | ToolCallEvent
    | ToolResultEvent
    | RecordOperationEvent
    | RecordStateEvent
    | ApprovalEvent
    | TurnProblemEvent
    | TurnDoneEvent,
    Field(discriminator="kind"),
]

_ADAPTER: TypeAdapter[SessionEvent] = TypeAdapter(SessionEvent)


class EventListView(ResponseModel):
    """Events in order, at most 200; read on after the number of the last one."""

    events: list[SessionEvent]


def event_to_json(event: Event) -> bytes:
    """Return the text of an event as JSON."""
    return _ADAPTER.dump_json(_ADAPTER.validate_python(event, from_attributes=True))
