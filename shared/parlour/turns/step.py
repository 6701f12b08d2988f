"""The two things a turn does before it replies: ask the model, and run the tools it asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from parlour.context.assemble import Assembled, assemble
from parlour.infra import log
from parlour.infra.ids import NewId
from parlour.infra.postgres import Database
from parlour.infra.queues import Queue
from parlour.models import fallback, prices, route
from parlour.models.request import Attempt, Completed, Model, ModelRequest, Reset, TextDelta, Usage
from parlour.models.route import Choice
from parlour.tools.run import Builtin, ToolContext, run_named
from parlour.turns import store
from parlour.turns.events import Feed
from parlour.turns.journal import Call, CallModel, Journal, RunTools, Step, ToolRequest
from parlour.turns.load import Loaded
from parlour.turns.records import Inbound, Lease, LlmCall, OpenTurn, StepRow
from parlour.turns.timing import Stages

LONGEST_ANSWER = 1_500
"""Tokens a reply may have; about 6,000 characters, more than a chat message should be."""

_SECONDS_KEPT = 5.0
"""What the model leaves of the invocation, so that a reply can still be committed."""


@dataclass(frozen=True, slots=True)
class Services:
    """What turns are run with: the ports, and the sources of time, ids and chance."""

    database: Database
    models: Mapping[str, Model]
    builtins: Mapping[str, Builtin]
    outbox: Queue
    clock: Callable[[], datetime]
    new_id: NewId
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]


@dataclass(frozen=True, slots=True)
class Running:
    """One turn while it runs, under its lease."""

    services: Services
    lease: Lease
    turn: OpenTurn
    inputs: tuple[Inbound, ...]
    feed: Feed
    stages: Stages
    seconds_left: Callable[[], float]


def ask_model(running: Running, loaded: Loaded, journal: Journal, step: CallModel) -> Journal:
    """Ask the model, streaming to the feed; commits the request before, the answer and every try after.

    ProviderUnavailable or ProviderRejected when the whole chain is exhausted (its tries are committed),
    PromptOverflow when the prompt cannot be made to fit.
    """
    assembled = assemble(loaded.asking(journal), loaded.profile)
    choices = route.available(route.choose(loaded.persona.agent.model_routing, "default"), running.services.models)
    _request(running, step, assembled, choices[0])
    attempts: list[Attempt] = []
    try:
        completed = _stream(running, assembled, choices, attempts)
    except Exception:
        tried = _calls(running, step.number, assembled, attempts, None)
        with running.feed.writing() as tx:
            store.insert_llm_calls(tx, tried)
        raise
    tried = _calls(running, step.number, assembled, attempts, completed.usage)
    answered, now = attempts[-1], running.services.clock()
    row = StepRow(step.number, list(completed.blocks), completed.stop_reason)
    with running.feed.writing() as tx:
        store.complete_step(tx, running.turn.id, row, provider=answered.provider, model=answered.model, now=now)
        store.insert_llm_calls(tx, tried)
    done = [one for one in journal.steps if one.number != step.number]
    return replace(journal, steps=(*done, Step(step.number, completed.blocks, completed.stop_reason)))


def run_tools(running: Running, loaded: Loaded, journal: Journal, step: RunTools) -> Journal:
    """Run the requested tools one after the other, each result committed before the next begins."""
    calls = [_run_tool(running, loaded, step.number, request) for request in step.requests]
    return replace(journal, calls=(*journal.calls, *calls))


def _request(running: Running, step: CallModel, assembled: Assembled, choice: Choice) -> None:
    if step.again:
        running.feed.add("text_reset", {"step": step.number})
    with running.feed.writing() as tx:
        store.request_step(
            tx, running.turn.id, step.number, provider=choice.provider, model=choice.model,
            prompt_hash=assembled.prompt.hash, now=running.services.clock(),
        )  # fmt: skip


def _stream(running: Running, assembled: Assembled, choices: list[Choice], attempts: list[Attempt]) -> Completed:
    prompt = assembled.prompt
    request = ModelRequest(choices[0].model, LONGEST_ANSWER, prompt.tools, prompt.system, prompt.messages)
    services = running.services
    seconds = running.seconds_left() - _SECONDS_KEPT
    with running.stages.timed("model"):
        parts = fallback.ask(
            choices, services.models, request, seconds_left=seconds, sleep=services.sleep, jitter=services.jitter
        )
        for part in parts:
            match part:
                case TextDelta(text):
                    running.feed.text(text)
                case Reset():
                    running.feed.add("text_reset", {})
                case Attempt():
                    attempts.append(part)
                    _note_failure(running, part)
                case Completed():
                    return part
    raise AssertionError("a stream ends with Completed or an error")


def _note_failure(running: Running, attempt: Attempt) -> None:
    """Say why a try failed: a status and a kind of error, never what was asked."""
    if attempt.outcome != "ok":
        log.warning(
            "model_call_failed", turn_id=running.turn.id, provider=attempt.provider, model=attempt.model,
            outcome=attempt.outcome, reason=attempt.problem,
        )  # fmt: skip


def _calls(
    running: Running, step: int, assembled: Assembled, attempts: list[Attempt], usage: Usage | None
) -> list[LlmCall]:
    spent = [usage if usage and attempt.outcome == "ok" else Usage(0, 0, 0, 0) for attempt in attempts]
    return [_call(running, step, assembled, attempt, used) for attempt, used in zip(attempts, spent, strict=True)]


def _call(running: Running, step: int, assembled: Assembled, attempt: Attempt, usage: Usage) -> LlmCall:
    now = running.services.clock()
    return LlmCall(
        id=running.services.new_id(now),
        session_id=running.lease.id,
        turn_id=running.turn.id,
        step=step,
        binding_id=running.lease.binding_id,
        provider=attempt.provider,
        model=attempt.model,
        outcome=attempt.outcome,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        tokens_by_layer=dict(assembled.tokens_by_layer),
        cost_usd=prices.cost(attempt.provider, attempt.model, usage, now),
        first_token_ms=attempt.first_token_ms,
        latency_ms=attempt.latency_ms,
        at=now,
    )


def _run_tool(running: Running, loaded: Loaded, step: int, request: ToolRequest) -> Call:
    running.feed.add("tool_call", {"name": request.name})
    services = running.services
    context = ToolContext(
        principal=loaded.principal, database=services.database, session_id=running.lease.id, turn_id=running.turn.id,
        now=services.clock(), new_id=services.new_id, fence=running.lease.token,
    )  # fmt: skip
    with running.stages.timed("tools") as took:
        result = run_named(context, request.name, request.arguments, loaded.tools, services.builtins)
    running.feed.add("tool_result", {"name": request.name, "ok": result.ok})
    call_id = services.new_id(context.now)
    with running.feed.writing() as tx:
        store.insert_tool_call(
            tx, id=call_id, turn_id=running.turn.id, step=step, call_id=request.call_id, name=request.name,
            arguments=request.arguments, writes=_writes(loaded, request.name), state="done" if result.ok else "failed",
            idempotency_key=idempotency_key(running.turn.id, step, request.call_id), result=result.content,
            code=result.code or None, latency_ms=took(), started_at=context.now, finished_at=services.clock(),
        )  # fmt: skip
    return Call(step, request.call_id, result.content)


def idempotency_key(turn_id: UUID, step: int, call_id: str) -> str:
    """One key per call that the model asked for, the same however often the turn is resumed."""
    return f"{turn_id}:{step}:{call_id}"


def _writes(loaded: Loaded, name: str) -> bool:
    return any(tool.writes for tool in loaded.tools if tool.name == name)
