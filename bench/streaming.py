"""How soon a turn on the web answers what its user does, in milliseconds, on the real database.

    python -m bench.streaming [--rounds N] [--json FILE]

A model writes 25 words a second, in a thread of its own as the adapters of providers do. At a random moment somebody
stops the turn, with the statement that the API runs.

stop_ms  from the stop to the committed `done`, by what the turn was doing: `model` writes, `silence` of the model,
         `tool`: a read of another system that would take 30 seconds, `effect`: a write that takes 400 ms and is not cut
         off, `heavy`: a heavy read under way in its dispatcher while the model writes, `approval`: a turn that ended
         with a question. For `heavy`, `tool_ended_ms` is when the dispatcher gave the call up.

How long followers wait for the first words, and whether they resume without a gap: `bench/streaming_latency.py`. How
long people on WhatsApp wait: `bench/phone_latency.py`.
"""

import logging
import random
import re
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from bench import phone_latency, report, streaming_latency
from local import temporary_database
from parlour.conversations import stop_requests
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.infra.errors import ToolCancelled
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage, content_blocks
from parlour.models.stream_timeouts import StreamTimeouts, stream_within
from parlour.tenancy.users import load_access
from parlour.tools.dispatch import DispatchDependencies, dispatch_call
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue, open_conversation_harness, tool_call

ROUNDS = 20
_SECONDS_PER_WORD = 0.04
_LONG_SECONDS = 30.0
_EFFECT_SECONDS = 0.4
_TEXT = "The pour of the lower deck waits for the crane, which comes when the north gate is free again. " * 40


@dataclass
class WritingModel:
    """Asks for the scenario's tool first, if it has one, then writes at reading speed, or says nothing."""

    tool: str = ""
    is_silent: bool = False
    has_begun: threading.Event = field(default_factory=threading.Event)
    provider: str = "anthropic"

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """Stream the call of the tool, or the long text."""
        timeouts = StreamTimeouts(seconds_left, seconds_left)
        yield from stream_within(timeouts, lambda: self._parts(request), lambda _part: True)

    def _parts(self, request: ModelRequest) -> Generator[StreamPart]:
        has_result = any(block.get("type") == "tool_result" for block in content_blocks(request.messages[-1]))
        if self.tool and not has_result:
            yield Completion(tuple(tool_call(self.tool)), "tool_use", TokenUsage(100, 20))
            return
        self.has_begun.set()
        time.sleep(_LONG_SECONDS if self.is_silent else 0)
        for word in re.findall(r"\S+\s*", _TEXT):
            time.sleep(_SECONDS_PER_WORD)
            yield TextDelta(word)
        yield Completion(({"type": "text", "text": _TEXT},), "end_turn", TokenUsage(100, 600))


@dataclass
class SlowSystem:
    """Another system whose answer takes half a minute; a cut connection ends the call."""

    has_begun: threading.Event

    def call(self, context: ToolContext, _tool: Tool, _arguments: JsonObject, /) -> JsonObject:
        """Wait until the connection is cut."""
        is_cut = threading.Event()
        context.connection.attach(is_cut.set)
        self.has_begun.set()
        if is_cut.wait(_LONG_SECONDS):
            raise ToolCancelled
        return {}

    def lookup(self, _context: ToolContext, _tool: Tool, /) -> JsonObject | None:
        """Nothing is known of a call."""
        return None


@dataclass(frozen=True)
class Scenario:
    """What the turn is doing when it is stopped."""

    name: str
    tool: str = ""
    is_silent: bool = False
    flags: dict[str, bool] = field(default_factory=dict)


SCENARIOS = (
    Scenario("model"),
    Scenario("silence", is_silent=True),
    Scenario("tool", "read_levels", flags={"writes": False}),
    Scenario("effect", "book_crane", flags={"writes": True}),
    Scenario("heavy", "compile_report", flags={"writes": False, "heavy": True}),
    Scenario("approval", "order_steel", flags={"writes": True}),
)


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    options = parser.parse_args()
    with (
        temporary_database.temporary_cluster() as cluster,
        closing(temporary_database.create_migrated_database(cluster)) as database,
    ):
        harness = open_conversation_harness(database, datetime.now(UTC))
        rows = [measure_stop(harness, scenario, options.rounds) for scenario in SCENARIOS]
    report.show(f"A stop ({options.rounds} rounds each), milliseconds", rows)
    stops = {"rounds": options.rounds, "stop_ms": {str(row["stopped at"]): row for row in rows}}
    logging.disable(logging.INFO)
    waits = streaming_latency.measure()
    streaming_latency.show(waits)
    phones = phone_latency.measure()
    phone_latency.show(phones)
    report.write(options.json, {**stops, **waits, **phones})


def measure_stop(harness: ConversationHarness, scenario: Scenario, rounds: int) -> dict[str, report.Cell]:
    """Stop a turn in every round; return the times, and what was kept."""
    if scenario.tool:
        _add_tool(harness, scenario)
    turns = [_StoppedTurn(harness, scenario) for _ in range(rounds)]
    stops, tools = [turn.run() for turn in turns], [turn.tool_ended_ms for turn in turns if turn.tool_ended_ms]
    return {
        "stopped at": scenario.name,
        "p50": report.percentile(stops, 50),
        "p95": report.percentile(stops, 95),
        "max": max(stops),
        "tool_ended_ms": max(tools, default=0.0),
        "state": ", ".join(sorted({turn.state for turn in turns})),
        "kept": turns[-1].kept,
    }


def _add_tool(harness: ConversationHarness, scenario: Scenario) -> None:
    def book(_context: ToolContext, _arguments: JsonObject) -> JsonObject:
        harness.model.has_begun.set()  # type: ignore[attr-defined]
        time.sleep(_EFFECT_SECONDS)
        return {"number": 1}

    harness.add_tool(scenario.tool, book, **scenario.flags)
    if not scenario.flags["writes"]:
        harness.query(f"UPDATE tools SET endpoint = 'function:x.y' WHERE name = '{scenario.tool}' RETURNING id")
    if scenario.name == "approval":
        harness.query(f"""UPDATE tools SET needs_approval = '"always"' WHERE name = '{scenario.tool}' RETURNING id""")


@dataclass
class _StoppedTurn:
    """One conversation whose turn runs in a thread and is stopped from here."""

    harness: ConversationHarness
    scenario: Scenario
    tool_ended_ms: float = 0.0
    state: str = ""
    kept: str = ""

    def run(self) -> float:
        """Return the milliseconds from the stop to the committed end."""
        harness = self.harness
        model = WritingModel(self.scenario.tool, self.scenario.is_silent)
        harness.model, harness.extra_endpoints = model, {"function": SlowSystem(model.has_begun)}  # type: ignore[assignment]
        harness.clock.now = datetime.now(UTC)
        visitor = harness.create_visitor()
        session_id = harness.find_session(visitor)
        harness.send_web(visitor, session_id, "What holds up the pour?")
        turn = threading.Thread(target=self._run_turn, args=(harness.list_wakes()[-1],))
        turn.start()
        if self.scenario.name == "approval":
            turn.join()
        model.has_begun.wait(0 if self.scenario.name == "approval" else _LONG_SECONDS)
        dispatcher = self._start_dispatcher() if self.scenario.name == "heavy" else None
        time.sleep(random.uniform(0.1, 0.4) if self.scenario.name != "effect" else random.uniform(0, 0.2))
        took = self._stop(session_id)
        turn.join()
        if dispatcher:
            dispatcher.join()
            self.tool_ended_ms = 1000 * (time.monotonic() - self._stopped_at)
        self._read_result(session_id)
        return took

    def _run_turn(self, wake: SessionWakeup) -> None:
        with closing(self.harness.database.clone()) as own:
            run_session(_live(self.harness, own), wake, lambda: 120.0)

    def _stop(self, session_id: UUID) -> float:
        tenant_id = self.harness.tenant_id
        ((turn_id,),) = self._query(f"SELECT id FROM turns WHERE session_id = '{session_id}'")
        with closing(self.harness.database.clone()) as own:
            self._stopped_at = time.monotonic()
            with own.transaction(tenant_id) as tx:
                now = datetime.now(UTC)
                stop_requests.stop_turn(tx, tenant_id, session_id, UUID(str(turn_id)), "user", now)
            while not self._query(f"SELECT 1 FROM events WHERE session_id = '{session_id}' AND kind = 'done'"):
                time.sleep(0.002)
            return 1000 * (time.monotonic() - self._stopped_at)

    def _start_dispatcher(self) -> threading.Thread:
        ((call_id,),) = self._query("SELECT id FROM tool_calls ORDER BY started_at DESC LIMIT 1")
        begun = threading.Event()

        def dispatch() -> None:
            with closing(self.harness.database.clone()) as own:
                dispatch_call(_dispatcher(own, begun), self.harness.tenant_id, UUID(str(call_id)), _far)

        thread = threading.Thread(target=dispatch)
        thread.start()
        begun.wait(_LONG_SECONDS)
        return thread

    def _read_result(self, session_id: UUID) -> None:
        ((state, words),) = self._query(
            f"SELECT t.state, (SELECT array_length(regexp_split_to_array(m.body, '\\s+'), 1) FROM messages m"
            f" WHERE m.turn_id = t.id AND m.direction = 'outbound' AND m.body <> '')"
            f" FROM turns t WHERE t.session_id = '{session_id}'"
        )
        calls = self._query(
            "SELECT c.name, c.state, c.code FROM tool_calls c JOIN turns t ON t.id = c.turn_id"
            f" WHERE t.session_id = '{session_id}'"
        )
        self.state = str(state)
        told = [f"{name}: {outcome}" + (f" ({code})" if code else "") for name, outcome, code in calls]
        self.kept = "; ".join([f"{words or 0} words", *told])

    def _query(self, statement: str) -> list[tuple[object, ...]]:
        return self.harness.query(statement)


def _live(harness: ConversationHarness, database: Database) -> TurnDependencies:
    return replace(harness.make_dependencies(database), clock=lambda: datetime.now(UTC), sleep=time.sleep)


def _far() -> float:
    return 900.0


def _dispatcher(database: Database, begun: threading.Event) -> DispatchDependencies[PendingWakeup]:
    return DispatchDependencies(
        database=database,
        open_database=database.clone,
        endpoints={"function": SlowSystem(begun)},
        resume=store_tool_result,
        wake=lambda _wakeup: None,
        principal_for=lambda tx, call: load_access(tx, call.user_id, call.binding_id).principal_for(call.name),
        wakeups=FakeDelayedQueue(),
        callback_url=lambda *_: "",
        clock=lambda: datetime.now(UTC),
    )


if __name__ == "__main__":
    main()
