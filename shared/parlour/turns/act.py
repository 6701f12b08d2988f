"""What a step asked for is done: reads at once, effects once, heavy calls by the dispatcher."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import ModelError, ToolNotAvailable
from parlour.infra.postgres import Transaction
from parlour.knowledge.tools.operations import operations
from parlour.principal import Principal
from parlour.tools import calls, effects
from parlour.tools.arguments import check
from parlour.tools.calls import WORKING, OpenCall, dispatch_message
from parlour.tools.definition import Tool
from parlour.tools.effects import Ended
from parlour.tools.result import ToolResult, failed
from parlour.tools.run import ToolContext, run_named
from parlour.turns import store
from parlour.turns.journal import Call, Journal, RunTools, ToolRequest
from parlour.turns.load import Loaded
from parlour.turns.operations import Events, events
from parlour.turns.running import SECONDS_KEPT, Running

_NOT_ACTING = (
    "you may ask and explain here, not change anything; nothing was done. Tell the user what you would have done"
)
"""What a model is told whose agent does not have the mode `act`, when it asks for a tool that writes."""


def idempotency_key(turn_id: UUID, step: int, call_id: str) -> str:
    """One key per call that the model asked for, the same however often the turn is resumed."""
    return f"{turn_id}:{step}:{call_id}"


def run_tools(running: Running, loaded: Loaded, journal: Journal, step: RunTools) -> Journal:
    """Run the requested tools one after the other, each result committed before the next begins.

    An effect whose outcome nobody knows is not run again: the model is told, and a person decides.
    """
    done = [_act(running, loaded, step.number, request) for request in step.requests]
    return replace(journal, calls=(*journal.calls, *done))


@dataclass(frozen=True, slots=True)
class PlannedEffect:
    """A call that changes something, to be reserved before it is begun."""

    call: OpenCall
    tool: Tool


def plan_effects(running: Running, loaded: Loaded, step: int, requests: Sequence[ToolRequest]) -> list[PlannedEffect]:
    """Return the effects that a step asks for. They are reserved in the transaction that completes the step, and no
    effect begins without a reservation. Heavy ones are reserved when they are handed to the dispatcher."""
    now = running.services.clock()
    return [
        PlannedEffect(_open(running, step, request, now), tool)
        for request in requests
        if (tool := _tool(loaded, request.name)) and tool.writes and not tool.heavy and loaded.persona.agent.acts
    ]


def reserve_effect(tx: Transaction, turn_id: UUID, effect: PlannedEffect) -> None:
    """Reserve the effect under its idempotency key. A repeat changes nothing."""
    call = effect.call
    calls.reserve(tx, turn_id, call, effect.tool, idempotency_key(turn_id, call.step, call.call_id))


def _act(running: Running, loaded: Loaded, step: int, request: ToolRequest) -> Call:
    running.require_time()
    running.feed.add("tool_call", {"name": request.name})
    tool = _tool(loaded, request.name)
    with running.stages.timed("tools") as took:
        if tool is not None and tool.writes and _may_not(running, loaded, step, request):
            result = failed(ToolNotAvailable(_NOT_ACTING))
            _finished(running, step, request, result, running.services.clock(), 0)
        elif tool is not None and tool.heavy:
            result = _hand_over(running, step, request, tool)
        elif tool is not None and tool.writes:
            result = _effect(running, loaded, step, request, tool)
        else:
            result = _read(running, loaded, step, request, took)
    return Call(step, request.call_id, result.content)


def _may_not(running: Running, loaded: Loaded, step: int, request: ToolRequest) -> bool:
    """Whether the agent's modes forbid what changes something. What was reserved while they did not is settled."""
    return not loaded.persona.agent.acts and (step, request.call_id) not in running.open_calls


def _read(running: Running, loaded: Loaded, step: int, request: ToolRequest, took: Callable[[], int]) -> ToolResult:
    context = _context(running, loaded, step, request)
    result = run_named(context, request.name, request.arguments, loaded.tools, running.services.endpoints)
    _finished(running, step, request, result, context.now, took())
    return result


def _effect(running: Running, loaded: Loaded, step: int, request: ToolRequest, tool: Tool) -> ToolResult:
    """Run the effect, or find out what became of it when an earlier worker had begun it."""
    found = running.open_calls.get((step, request.call_id))
    if found is None:
        found = _open(running, step, request, running.services.clock())
        effect = PlannedEffect(found, tool)
        running.feed.write(lambda tx: reserve_effect(tx, running.turn.id, effect))
    context = replace(_context(running, loaded, step, request), tool_call_id=found.id)
    book = _TurnBook(running, loaded.principal, found.id, tool, context.now)
    return effects.perform(context, tool, request.arguments, found.state, running.services.endpoints, book)


def _hand_over(running: Running, step: int, request: ToolRequest, tool: Tool) -> ToolResult:
    """Reserve a heavy call and send it to the dispatcher; its result comes as a message of its own.

    When the message cannot be sent, the call is reserved all the same: the resumed turn or the sweep sends it.
    """
    now = running.services.clock()
    try:
        check(tool.schema, request.arguments)
    except ModelError as error:
        result = failed(error)
        _finished(running, step, request, result, now, 0)
        return result
    effect = PlannedEffect(_open(running, step, request, now), tool)
    running.feed.add("tool_result", {"name": request.name, "ok": True, "working": True})
    running.feed.write(lambda tx: reserve_effect(tx, running.turn.id, effect))
    running.services.tools.send([dispatch_message(running.feed.principal.tenant_id, effect.call.id)])
    return ToolResult(True, WORKING)


@dataclass(frozen=True, slots=True)
class _TurnBook:
    """Where a turn writes down the state of an effect: under its lease, so that a worker that was overtaken cannot."""

    running: Running
    principal: Principal
    call_id: UUID
    tool: Tool
    since: datetime

    def begin(self) -> None:
        now = self.running.services.clock()
        self.running.feed.write(lambda tx: calls.begin(tx, self.call_id, now))

    def end(self, state: Ended, result: ToolResult) -> None:
        now = self.running.services.clock()
        took = max(0, round((now - self.since).total_seconds() * 1000))
        self.running.feed.add("tool_result", {"name": self.tool.name, "ok": result.ok})
        for kind, payload in self._operations(result) if state == "done" else []:
            self.running.feed.add(kind, payload)
        self.running.feed.write(
            lambda tx: calls.end(tx, self.call_id, state, result.content, result.code or None, took, now)
        )

    def _operations(self, result: ToolResult) -> Events:
        """What the call did to records, as it is stored by now. It is told with the call's end: once, also when
        another worker finds the call done and ends it."""
        done = operations(self.tool, result.content) if self.running.feed.is_followed else []
        if not done:
            return []
        return self.running.services.database.run(self.principal, lambda tx: events(self.principal, tx, done))


def _finished(
    running: Running, step: int, request: ToolRequest, result: ToolResult, since: datetime, took: int
) -> None:
    """Commit a call that changed nothing, with its result."""
    services = running.services
    running.feed.add("tool_result", {"name": request.name, "ok": result.ok})
    row_id, now = services.new_id(since), services.clock()

    def commit(tx: Transaction) -> None:
        store.insert_tool_call(
            tx, id=row_id, turn_id=running.turn.id, step=step, call_id=request.call_id, name=request.name,
            arguments=request.arguments, writes=False, state="done" if result.ok else "failed",
            idempotency_key=idempotency_key(running.turn.id, step, request.call_id), result=result.content,
            code=result.code or None, latency_ms=took, started_at=since, finished_at=now,
        )  # fmt: skip

    running.feed.write(commit)


def _open(running: Running, step: int, request: ToolRequest, now: datetime) -> OpenCall:
    call_id = running.services.new_id(now)
    return OpenCall(
        call_id, step, request.call_id, request.name, request.arguments, state="reserved", heavy=False, started_at=now
    )


def _context(running: Running, loaded: Loaded, step: int, request: ToolRequest) -> ToolContext:
    services = running.services
    return ToolContext(
        principal=loaded.principal, database=services.database, session_id=running.lease.id, turn_id=running.turn.id,
        now=services.clock(), new_id=services.new_id, fence=running.lease.token,
        idempotency_key=idempotency_key(running.turn.id, step, request.call_id),
        seconds_left=lambda: running.seconds_left() - SECONDS_KEPT, team_id=loaded.persona.team.id,
        asked=loaded.asked,
        entity_id=loaded.entity_id,
    )  # fmt: skip


def _tool(loaded: Loaded, name: str) -> Tool | None:
    return next((tool for tool in loaded.tools if tool.name == name), None)
