"""A turn's events as AG-UI 1.0 has them.

A reply is one message for each step of the model that has a text, with the calls between them. AG-UI cannot take back
streamed text: text that is not in the reply after all is dropped by a MESSAGES_SNAPSHOT without it, and the reply
begins as a new message.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from ag_ui.core import (
    PROTOCOL_VERSION,
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    ReasoningStartEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedOutcome,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallEndEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
    ToolMessage,
)

from parlour.api.event_schemas import Event
from parlour.approvals.rows import Approval
from parlour.infra.json_values import JsonObject

_STATE_PATHS = {"session": "turn", "context_usage": "context_usage"}
"""The kinds of events that are state, and the member that each replaces."""

_CUSTOM_KINDS = frozenset({"operation", "entity_patch"})

_CLOSED_STATES = frozenset({"refused", "expired", "superseded", "done"})

_ANSWER: JsonObject = {"approved": {"type": "boolean"}, "reason": {"type": "string", "maxLength": 500}}
_EDITED: JsonObject = {
    "editedArgs": {"type": "object", "description": "All arguments of the call. They are shown again first."}
}


def tool_call_id(event_number: int) -> str:
    """Return the id of a call in AG-UI: the same in every run of its thread."""
    return f"call-{event_number}"


@dataclass(slots=True)
class _Text:
    """The text of a step as a message. White space at its end is held back: a reply has none.

    block  the step that writes it.
    """

    message: AssistantMessage
    block: int
    held_back: str = ""

    @property
    def shown(self) -> str:
        return self.message.content or ""


@dataclass(frozen=True, slots=True)
class _Call:
    """A call without a result. number: of the event that told of it; call_id: the model's."""

    number: int
    name: str
    call_id: str


@dataclass(slots=True)
class AguiRun:
    """One run: translates events and keeps what the client now has of the conversation.

    history      the client's messages, up to the one that is answered.
    asked_calls  by approval, the number of the event that told of its call in an earlier run.
    is_over      whether the terminal event was given out.
    _texts       the texts of the turn that runs; `_text`: the one that is being streamed.
    """

    thread_id: str
    run_id: str
    history: Sequence[Message]
    parent_run_id: str | None = None
    asked_calls: dict[UUID, int] = field(default_factory=dict)
    is_over: bool = field(default=False, init=False)
    _messages: list[Message] = field(default_factory=list, init=False)
    _message_count: int = field(default=0, init=False)
    _texts: list[_Text] = field(default_factory=list, init=False)
    _text: _Text | None = field(default=None, init=False)
    _reasoning_id: str = field(default="", init=False)
    _open_calls: list[_Call] = field(default_factory=list, init=False)
    _is_stopped: bool = field(default=False, init=False)
    _problem: tuple[str, str] | None = field(default=None, init=False)

    def begin(self, *, restates: bool) -> Iterator[BaseEvent]:
        """Yield what opens the run; `restates` drops what the client has after the message that is answered."""
        yield RunStartedEvent(
            thread_id=self.thread_id,
            run_id=self.run_id,
            parent_run_id=self.parent_run_id,
            protocol_version=PROTOCOL_VERSION,
        )
        if restates:
            yield self._messages_snapshot()
        yield StateSnapshotEvent(snapshot=dict.fromkeys(_STATE_PATHS.values()))

    def translate(self, event: Event, replies: Mapping[UUID, str]) -> Iterator[BaseEvent]:
        """Yield an event of a turn in AG-UI's terms; nothing of a kind that AG-UI's clients have no use for.

        replies: the text of a reply by its id, for `done`.
        """
        payload = event.payload
        if event.kind != "reasoning_delta":
            yield from self._end_reasoning()
        match event.kind:
            case "text_delta" | "text_reset" | "reasoning_delta":
                yield from self._translate_stream(event)
            case "tool_call":
                yield from self._start_call(_Call(event.number, str(payload["name"]), str(payload.get("call_id", ""))))
            case "tool_result":
                yield from self._end_call(payload)
            case "approval":
                yield from self._approval(payload)
            case "error":
                self._problem = (str(payload["code"]), str(payload["message"]))
            case "done":
                self._is_stopped = payload.get("state") == "stopped"
                yield from self._reply(replies.get(UUID(str(payload["message_id"])), ""))
            case kind if kind in _STATE_PATHS:
                yield StateDeltaEvent.model_validate(
                    {"delta": [{"op": "add", "path": f"/{_STATE_PATHS[kind]}", "value": payload}]}
                )
            case kind if kind in _CUSTOM_KINDS:
                yield CustomEvent(name=kind, value=payload)

    def finish(self, open_questions: Sequence[Approval]) -> Iterator[BaseEvent]:
        """Yield what ends the run: an error, a stop, the questions that the user is asked now, or success."""
        if self._problem is not None:
            yield from self.fail(*self._problem)
            return
        yield from self._end_text()
        # A call beyond the limit of a turn never runs.
        for call in self._open_calls:
            if call.number not in self.asked_calls.values():
                yield self._call_result(tool_call_id(call.number), {"ok": False})
        interrupts = [self._interrupt(one) for one in open_questions]
        outcome: RunFinishedOutcome = RunFinishedSuccessOutcome()
        if self._is_stopped:
            outcome = RunFinishedCancelledOutcome()
        elif interrupts:
            outcome = RunFinishedInterruptOutcome(interrupts=interrupts)
        self.is_over = True
        yield RunFinishedEvent(thread_id=self.thread_id, run_id=self.run_id, outcome=outcome)

    def fail(self, code: str, message: str) -> Iterator[BaseEvent]:
        """Yield what ends a run that failed; what is open ends with it."""
        self.is_over = True
        yield RunErrorEvent(code=code, message=message)

    def _translate_stream(self, event: Event) -> Iterator[BaseEvent]:
        match event.kind:
            case "text_delta":
                yield from self._stream(str(event.payload["text"]), int(str(event.payload.get("block", 1))))
            case "text_reset":
                yield from self._retract([one for one in self._texts if one.block == event.payload["step"]])
            case "reasoning_delta":
                yield from self._reason(event.number, str(event.payload["text"]))

    def _reason(self, number: int, delta: str) -> Iterator[BaseEvent]:
        """Tell what the model thinks, which clients show apart from messages: no snapshot has it."""
        if not self._reasoning_id:
            self._reasoning_id = f"reasoning-{number}"
            yield ReasoningStartEvent(message_id=self._reasoning_id)
            yield ReasoningMessageStartEvent(message_id=self._reasoning_id, role="reasoning")
        yield ReasoningMessageContentEvent(message_id=self._reasoning_id, delta=delta)

    def _end_reasoning(self) -> Iterator[BaseEvent]:
        if self._reasoning_id:
            yield ReasoningMessageEndEvent(message_id=self._reasoning_id)
            yield ReasoningEndEvent(message_id=self._reasoning_id)
            self._reasoning_id = ""

    def _stream(self, delta: str, block: int) -> Iterator[BaseEvent]:
        if self._text and self._text.block != block:
            yield from self._end_text()
        text = self._text.held_back + delta if self._text else delta.lstrip()
        shown = text.rstrip()
        if shown:
            if self._text is None:
                self._message_count += 1
                message = AssistantMessage(id=f"{self.run_id}-{self._message_count}")
                self._text = _Text(message, block)
                self._texts.append(self._text)
                self._messages.append(message)
                yield TextMessageStartEvent(message_id=message.id, role="assistant")
            self._text.message.content = self._text.shown + shown
            yield TextMessageContentEvent(message_id=self._text.message.id, delta=shown)
        if self._text:
            self._text.held_back = text[len(shown) :]

    def _end_text(self) -> Iterator[BaseEvent]:
        if self._text:
            yield TextMessageEndEvent(message_id=self._text.message.id)
            self._text = None

    def _retract(self, texts: Sequence[_Text]) -> Iterator[BaseEvent]:
        """Drop the messages of these texts."""
        if not texts:
            return
        yield from self._end_text()
        dropped = {one.message.id for one in texts}
        self._messages = [one for one in self._messages if one.id not in dropped]
        self._texts = [one for one in self._texts if one not in texts]
        yield self._messages_snapshot()

    def _reply(self, reply: str) -> Iterator[BaseEvent]:
        """Make the texts of the turn its reply, as it was stored: with questions, without false citations.

        RUN_ERROR tells why a turn could not go on: of its reply only what comes before is a message.
        """
        if self._problem is not None:
            reply = reply.partition(self._problem[1])[0].rstrip()
        count = next(count for count in range(len(self._texts), -1, -1) if self._begins_with(reply, count))
        yield from self._retract(self._texts[count:])
        if rest := reply[len(_join(self._texts)) :]:
            if self._text:
                self._text.held_back = ""
            yield from self._stream(rest, self._text.block if self._text else 0)
        yield from self._end_text()
        self._texts = []

    def _begins_with(self, reply: str, count: int) -> bool:
        """Return whether the reply begins with the first `count` texts; the one that is open may go on anyhow."""
        shown = _join(self._texts[:count])
        is_open = count == len(self._texts) and self._text is not None
        return not shown or reply == shown or reply.startswith(shown if is_open else f"{shown}\n\n")

    def _start_call(self, call: _Call) -> Iterator[BaseEvent]:
        """Tell of a call by its name: its arguments and result are shown to members only."""
        yield from self._end_text()
        self._open_calls.append(call)
        call_id = tool_call_id(call.number)
        told = ToolCall(id=call_id, function=FunctionCall(name=call.name, arguments=""))
        self._messages.append(AssistantMessage(id=call_id, tool_calls=[told]))
        yield ToolCallStartEvent(tool_call_id=call_id, tool_call_name=call.name)
        yield ToolCallEndEvent(tool_call_id=call_id)

    def _end_call(self, payload: JsonObject) -> Iterator[BaseEvent]:
        ended = (str(payload["name"]), str(payload.get("call_id", "")))
        call = next((one for one in self._open_calls if (one.name, one.call_id) == ended), None)
        if call is not None:
            self._open_calls.remove(call)
            outcome = {name: value for name, value in payload.items() if name in {"ok", "is_running"}}
            yield self._call_result(tool_call_id(call.number), outcome)

    def _approval(self, payload: JsonObject) -> Iterator[BaseEvent]:
        """Keep which call a question is about; give the call of a closed one its result, in the run that follows."""
        approval_id, state = UUID(str(payload["approval_id"])), str(payload["state"])
        call = next((one for one in reversed(self._open_calls) if one.name == payload["tool"]), None)
        if state == "asked" and call is not None:
            self.asked_calls[approval_id] = call.number
        elif state in _CLOSED_STATES and approval_id in self.asked_calls:
            yield self._call_result(
                tool_call_id(self.asked_calls[approval_id]), {"ok": state == "done", "state": state}
            )

    def _call_result(self, call_id: str, outcome: JsonObject) -> BaseEvent:
        message = ToolMessage(id=f"{call_id}-result", content=json.dumps(outcome), tool_call_id=call_id)
        self._messages.append(message)
        return ToolCallResultEvent(
            message_id=message.id, tool_call_id=call_id, content=json.dumps(outcome), role="tool"
        )

    def _interrupt(self, approval: Approval) -> Interrupt:
        number = self.asked_calls.get(approval.id)
        properties = {**_ANSWER, **(_EDITED if "edit" in approval.options else {})}
        return Interrupt(
            id=str(approval.id),
            reason="confirmation" if number is None else "tool_call",
            message=approval.question,
            tool_call_id=None if number is None else tool_call_id(number),
            response_schema={"type": "object", "properties": properties, "required": ["approved"]},
            expires_at=approval.expires_at.isoformat(),
            metadata={"tool": approval.tool, "arguments": approval.arguments},
        )

    def _messages_snapshot(self) -> BaseEvent:
        return MessagesSnapshotEvent(messages=[*self.history, *self._messages])


def _join(texts: Sequence[_Text]) -> str:
    return "\n\n".join(one.shown for one in texts)


def new_run(given: RunAgentInput, history: Sequence[Message]) -> AguiRun:
    """Return the run that a client asks for."""
    return AguiRun(given.thread_id, given.run_id, history, given.parent_run_id)
