"""What a step asked for is done: reads at once, effects once, heavy calls by the dispatcher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.approvals import approvals
from parlour.approvals.question import asked_result
from parlour.conversations import approval_requests, store, untrusted_text
from parlour.conversations.handoff_rules import HAND_OFF
from parlour.conversations.journal import FinishedCall, Journal, RunTools, ToolRequest
from parlour.conversations.loaded_turn import LoadedTurn
from parlour.conversations.record_events import EventList, record_events
from parlour.conversations.shown_level import read_shown_level
from parlour.conversations.turn_context import COMMIT_RESERVE_SECONDS, TurnContext
from parlour.infra.errors import ModelError, ToolCancelled
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.prompts.assembly.tool_rounds import ASKED
from parlour.tools import calls, effects
from parlour.tools.builtin.operations import planned_operation, read_operations
from parlour.tools.builtin.rehearsal import rehearse_call
from parlour.tools.call_decision import (
    AskPerson,
    CallDecision,
    Dispatch,
    PerformEffect,
    Refuse,
    RunRead,
    decide_call,
)
from parlour.tools.calls import IN_PROGRESS_RESULT, UnfinishedCall, dispatch_message
from parlour.tools.effects import EndState
from parlour.tools.result import ToolResult, error_result
from parlour.tools.run import ToolContext, run_tool_by_name
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool


def idempotency_key(turn_id: UUID, step: int, call_id: str) -> str:
    """One key per call that the model asked for, the same however often the turn is resumed."""
    return f"{turn_id}:{step}:{call_id}"


def run_requested_tools(
    turn_context: TurnContext, loaded_turn: LoadedTurn, journal: Journal, step: RunTools
) -> Journal:
    """Run the requested tools one after the other, each result committed before the next begins.

    An effect whose outcome nobody knows is not run again: the model is told, and a person decides. Once somebody stops
    the turn, a read is cut and nothing more is begun; an effect that was begun ends as it must.
    """
    done: list[FinishedCall] = []
    for request in step.requests:
        call = turn_context.unfinished_calls.get((step.step_number, request.call_id))
        has_begun = call is not None and call.state == "running"
        if turn_context.stop.cause and not has_begun:
            done.append(_cancel_request(turn_context, step.step_number, request))
        else:
            done.append(_run_request(turn_context, loaded_turn, step.step_number, request))
    ran = replace(journal, finished_calls=(*journal.finished_calls, *done))
    turn_context.has_untrusted_text |= untrusted_text.has_outside_results(loaded_turn.tools, ran)
    return ran


@dataclass(frozen=True, slots=True)
class PlannedEffect:
    """A call that changes something, to be reserved before it is begun."""

    call: UnfinishedCall
    tool: Tool


def plan_effects(
    turn_context: TurnContext, loaded_turn: LoadedTurn, step: int, requests: Sequence[ToolRequest]
) -> list[PlannedEffect]:
    """Decide the calls that a step asks for, and return the effects among them.

    They are reserved in the transaction that completes the step, and no effect begins without a reservation. Heavy ones
    are reserved when they are handed to the dispatcher.
    """
    now = turn_context.dependencies.clock()
    decisions = {request.call_id: _decide(turn_context, loaded_turn, step, request) for request in requests}
    turn_context.decisions.update({(step, call_id): decision for call_id, decision in decisions.items()})
    return [
        PlannedEffect(_new_call(step, request, now), decision.tool)
        for request in requests
        if isinstance(decision := decisions[request.call_id], PerformEffect)
    ]


def _decide(turn_context: TurnContext, loaded_turn: LoadedTurn, step: int, request: ToolRequest) -> CallDecision:
    """Return the decision about a call; a turn that was resumed decides again."""
    return decide_call(
        _find_tool(loaded_turn, request.name),
        loaded_turn.access.principal_for(request.name),
        loaded_turn.access.principal,
        request.arguments,
        is_reserved=(step, request.call_id) in turn_context.unfinished_calls,
        must_ask=lambda tool: approval_requests.must_ask(turn_context, loaded_turn, tool, request.arguments),
    )


def tell_of_calls(turn_context: TurnContext, loaded_turn: LoadedTurn, requests: Sequence[ToolRequest]) -> None:
    """Have the feed tell of the calls that a step asks for; committed with the step, before the first one runs."""
    if requests:
        turn_context.feed.set_state("executing")
    for request in requests:
        turn_context.feed.add_event("tool_call", {"name": request.name, "call_id": request.call_id})
        _add_operation(turn_context, _find_tool(loaded_turn, request.name), request.arguments, "start")


def _add_operation(
    turn_context: TurnContext, tool: Tool | None, arguments: JsonObject, status: Literal["start", "success", "error"]
) -> None:
    """Have the feed tell what a call of a built-in tool does to which records, as far as its arguments name them."""
    operation = planned_operation(tool, arguments) if tool else None
    if operation is not None:
        turn_context.feed.add_event("operation", {**operation, "status": status})


def reserve_effect(tx: Transaction, turn_id: UUID, effect: PlannedEffect) -> None:
    """Reserve the effect under its idempotency key. A repeat changes nothing."""
    call = effect.call
    calls.reserve_call(tx, turn_id, call, effect.tool, idempotency_key(turn_id, call.step, call.call_id))


def _cancel_request(turn_context: TurnContext, step: int, request: ToolRequest) -> FinishedCall:
    """End a call that the stopped turn did not begin. A reserved one is cancelled with the end of the turn."""
    result = error_result(ToolCancelled())
    if (step, request.call_id) not in turn_context.unfinished_calls:
        _record_finished_call(turn_context, step, request, result, turn_context.dependencies.clock(), 0)
    return FinishedCall(step, request.call_id, result.content)


def _run_request(turn_context: TurnContext, loaded_turn: LoadedTurn, step: int, request: ToolRequest) -> FinishedCall:
    turn_context.require_time()
    with turn_context.stage_timer.measure("tools") as took:
        decision = turn_context.decisions.get((step, request.call_id))
        match decision or _decide(turn_context, loaded_turn, step, request):
            case Refuse(error):
                result = _refuse(turn_context, step, request, error)
            case AskPerson(tool):
                result = _ask_person(turn_context, loaded_turn, step, request, tool)
            case Dispatch(tool):
                result = _dispatch_heavy_call(turn_context, step, request, tool)
            case PerformEffect(tool):
                result = _perform_effect(turn_context, loaded_turn, step, request, tool)
            case RunRead(tool):
                result = _run_read_tool(turn_context, loaded_turn, step, request, tool, took)
    return FinishedCall(step, request.call_id, result.content)


def _refuse(turn_context: TurnContext, step: int, request: ToolRequest, error: ModelError) -> ToolResult:
    """Commit the call as refused."""
    result = error_result(error)
    _record_finished_call(turn_context, step, request, result, turn_context.dependencies.clock(), 0)
    return result


def _perform_effect(
    turn_context: TurnContext, loaded_turn: LoadedTurn, step: int, request: ToolRequest, tool: Tool
) -> ToolResult:
    call = turn_context.unfinished_calls.get((step, request.call_id))
    if call is None:
        effect = PlannedEffect(_new_call(step, request, turn_context.dependencies.clock()), tool)
        turn_context.feed.commit(lambda tx: reserve_effect(tx, turn_context.turn.id, effect))
        call = effect.call
    context = replace(_tool_context(turn_context, loaded_turn, step, request, is_write=True), tool_call_id=call.id)
    recorder = _TurnCallRecorder(turn_context, loaded_turn.principal, call.id, tool, request, context.now)
    endpoints = turn_context.dependencies.endpoints
    return effects.perform_effect(context, tool, request.arguments, call.state, endpoints, recorder)


def _run_read_tool(
    turn_context: TurnContext,
    loaded_turn: LoadedTurn,
    step: int,
    request: ToolRequest,
    tool: Tool | None,
    took: Callable[[], int],
) -> ToolResult:
    context = _tool_context(turn_context, loaded_turn, step, request, is_write=request.name == HAND_OFF)

    def run() -> ToolResult:
        endpoints = turn_context.dependencies.endpoints
        return run_tool_by_name(context, request.name, request.arguments, loaded_turn.tools, endpoints)

    is_own = tool is None or tool.endpoint.startswith(BUILTIN_SCHEME)
    cancelled = error_result(ToolCancelled())
    result = run() if is_own else turn_context.stop.run_read(run, context.connection, if_stopped=cancelled)
    _record_finished_call(turn_context, step, request, result, context.now, took())
    return result


def _ask_person(
    turn_context: TurnContext, loaded_turn: LoadedTurn, step: int, request: ToolRequest, tool: Tool
) -> ToolResult:
    """Commit the call as asked about, with the question; nothing runs until the person agrees."""
    now = turn_context.dependencies.clock()
    try:
        context = _tool_context(turn_context, loaded_turn, step, request, is_write=True)
        code_version = rehearse_call(context, tool, request.arguments, turn_context.dependencies.endpoints)
    except ModelError as error:
        result = error_result(error)
        _record_finished_call(turn_context, step, request, result, now, 0)
        return result
    call = _new_call(step, request, now)
    approval = approval_requests.new_approval(turn_context, loaded_turn, tool, code_version, request, call)
    result = ToolResult(False, asked_result(approval), ASKED)
    key = idempotency_key(turn_context.turn.id, step, request.call_id)
    turn_context.feed.add_event("approval", approval_requests.approval_event(approval, tool))

    def commit(tx: Transaction) -> None:
        store.insert_tool_call(
            tx,
            id=call.id,
            turn_id=turn_context.turn.id,
            step=step,
            call_id=request.call_id,
            name=request.name,
            arguments=request.arguments,
            writes=tool.writes,
            state="failed",
            idempotency_key=key,
            result=result.content,
            code=ASKED,
            detail="",
            latency_ms=0,
            started_at=now,
            finished_at=now,
        )
        approvals.ask(tx, approval)

    turn_context.feed.commit(commit)
    return result


def _dispatch_heavy_call(turn_context: TurnContext, step: int, request: ToolRequest, tool: Tool) -> ToolResult:
    """Reserve a heavy call and send it to the dispatcher; its result comes as a message of its own.

    When the message cannot be sent, the call is reserved all the same: the resumed turn or the sweep sends it.
    """
    effect = PlannedEffect(_new_call(step, request, turn_context.dependencies.clock()), tool)
    working: JsonObject = {"name": request.name, "call_id": request.call_id, "ok": True, "is_running": True}
    turn_context.feed.add_event("tool_result", working)
    turn_context.feed.commit(lambda tx: reserve_effect(tx, turn_context.turn.id, effect))
    turn_context.dependencies.tool_queue.send([dispatch_message(turn_context.feed.principal.tenant_id, effect.call.id)])
    return ToolResult(True, IN_PROGRESS_RESULT)


@dataclass(frozen=True, slots=True)
class _TurnCallRecorder:
    """Where a turn writes down the state of an effect: under its lease, so that a worker that was overtaken cannot."""

    turn_context: TurnContext
    principal: Principal
    call_id: UUID
    tool: Tool
    request: ToolRequest
    started_at: datetime

    def begin(self) -> None:
        now = self.turn_context.dependencies.clock()
        self.turn_context.feed.commit(lambda tx: calls.begin_call(tx, self.call_id, now))

    def end(self, state: EndState, result: ToolResult) -> None:
        now = self.turn_context.dependencies.clock()
        took = max(0, round((now - self.started_at).total_seconds() * 1000))
        ended: JsonObject = {"name": self.tool.name, "call_id": self.request.call_id, "ok": result.ok}
        self.turn_context.feed.add_event("tool_result", ended)
        if not result.ok:
            _add_operation(self.turn_context, self.tool, self.request.arguments, "error")
        for kind, payload in self._record_events(result) if state == "done" else []:
            self.turn_context.feed.add_event(kind, payload)
        self.turn_context.feed.commit(lambda tx: calls.end_call(tx, self.call_id, state, result, took, now))

    def _record_events(self, result: ToolResult) -> EventList:
        """Return the events of the call's changes to records, as stored by now.

        They are sent with the call's end: once, also when another worker finds the call done and ends it.
        """
        done = read_operations(self.tool, result.content) if self.turn_context.feed.is_followed else []
        if not done:
            return []
        return self.turn_context.dependencies.database.run(
            self.principal, lambda tx: record_events(self.principal, tx, done)
        )


def _record_finished_call(
    turn_context: TurnContext,
    step: int,
    request: ToolRequest,
    result: ToolResult,
    started_at: datetime,
    latency_ms: int,
) -> None:
    """Commit a call that changed nothing, with its result."""
    services = turn_context.dependencies
    ended: JsonObject = {"name": request.name, "call_id": request.call_id, "ok": result.ok}
    turn_context.feed.add_event("tool_result", ended)
    tool = next((tool for tool in turn_context.tools if tool.name == request.name), None)
    _add_operation(turn_context, tool, request.arguments, "success" if result.ok else "error")
    row_id, now = uuid7(started_at), services.clock()

    def commit(tx: Transaction) -> None:
        store.insert_tool_call(
            tx,
            id=row_id,
            turn_id=turn_context.turn.id,
            step=step,
            call_id=request.call_id,
            name=request.name,
            arguments=request.arguments,
            writes=False,
            state="done" if result.ok else "failed",
            idempotency_key=idempotency_key(turn_context.turn.id, step, request.call_id),
            result=result.content,
            code=result.code or None,
            detail=result.detail,
            latency_ms=latency_ms,
            started_at=started_at,
            finished_at=now,
        )

    turn_context.feed.commit(commit)


def _new_call(step: int, request: ToolRequest, now: datetime) -> UnfinishedCall:
    call_id = uuid7(now)
    return UnfinishedCall(
        call_id, step, request.call_id, request.name, request.arguments, state="reserved", heavy=False, started_at=now
    )


def _tool_context(
    turn_context: TurnContext, loaded_turn: LoadedTurn, step: int, request: ToolRequest, *, is_write: bool = False
) -> ToolContext:
    services = turn_context.dependencies
    return ToolContext(
        principal=loaded_turn.access.principal_for(request.name),
        database=services.database,
        session_id=turn_context.lease.id,
        turn_id=turn_context.turn.id,
        now=services.clock(),
        fencing_token=turn_context.lease.token,
        idempotency_key=idempotency_key(turn_context.turn.id, step, request.call_id),
        seconds_left=lambda: turn_context.seconds_left() - COMMIT_RESERVE_SECONDS,
        team_id=loaded_turn.persona.team.id,
        user_messages=loaded_turn.recent_user_texts,
        entity_id=loaded_turn.entity_id,
        shown_level=read_shown_level(turn_context, loaded_turn) if is_write else 0,
        has_untrusted_text=turn_context.has_untrusted_text,
    )


def _find_tool(loaded_turn: LoadedTurn, name: str) -> Tool | None:
    return next((tool for tool in loaded_turn.tools if tool.name == name), None)
