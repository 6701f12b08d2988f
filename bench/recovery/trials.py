"""People who write while workers are killed, and what was measured meanwhile."""

import json
import random
import statistics
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, override
from urllib.parse import unquote

from bench import report
from bench.recovery.kill_after import KillAfter
from local.event_source import EventSource
from local.queues import list_queue_definitions
from local.workers import InvocationResult, InvocationWrapper, WorkerPool
from tests.chaos.chaos_environment import (
    EVENT_SOURCE_MAPPINGS,
    ChaosEnvironment,
    ChaosTenant,
    webhook_event,
)
from tests.chaos.queue_poller import Delivery, QueuePoller

DUPLICATE_SHARE = 0.2
KILLED_SHARE = 0.35

MODEL_SECONDS = 2.0
TOOL_SECONDS = 2.0

WORKER_SLOTS = 12

TENANT = "kills"

_PATIENCE_SECONDS = 300.0
"""After the last message; whoever has no answer then has lost it."""

_DOUBLE_SECONDS = 5.0
"""How long after the last answer a second one of somebody's is waited for."""

_CRASH_CALM_SECONDS = 10.0
"""Nobody is killed around the crash of the database: a message that failed for it comes again later on purpose."""

_FUNCTIONS = {"orchestrator": "turns", "tool_dispatcher": "tool calls", "receiver": "receiver", "outbound": "outbound"}

_TIMEOUT_SECONDS = {"intake": 8, "turns": 180, "web": 180, "outbox": 60, "tools": 900, "wakeups": 60}
"""Each function's timeout by the name of its queue, as in the template."""


class SlowOffice:
    """A tool that acts at once and answers after seconds; `calls`: by idempotency key, how often it was called."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        handler = type("Handler", (_OfficeHandler,), {"calls": self.calls})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop to listen."""
        self._server.shutdown()
        self._server.server_close()


class _OfficeHandler(BaseHTTPRequestHandler):
    calls: ClassVar[Counter[str]]

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.calls[self.headers["Idempotency-Key"]] += 1
        time.sleep(TOOL_SECONDS)
        self._answer(201)

    def do_GET(self) -> None:
        self._answer(200 if unquote(self.path.rpartition("/")[2]) in self.calls else 404)

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self, status: int) -> None:
        body = json.dumps({"status": "ordered"}).encode()
        with suppress(ConnectionError):  # whoever called was killed
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)


class DuplicatingSource(EventSource):
    """A mapping that has some messages handled twice, as a standard queue may."""

    @override
    def handle(
        self, workers: WorkerPool, records: Sequence[Mapping[str, Any]], wrap: InvocationWrapper | None = None
    ) -> InvocationResult:
        ended = super().handle(workers, records, wrap)
        if ended.outcome == "answered" and random.random() < DUPLICATE_SHARE:
            workers.invoke(self.mapping.function, {"Records": list(records)}, self.mapping.timeout_seconds)
        return ended


class Kills:
    """Who dies when, and when the work of the dead was done. Used by several threads."""

    def __init__(self) -> None:
        self.is_calm = threading.Event()
        self.resumptions: dict[str, list[float]] = {function: [] for function in _FUNCTIONS}
        self.recoveries: dict[str, list[float]] = {function: [] for function in _FUNCTIONS}
        self.open: dict[tuple[str, str], float] = {}
        self._untimed: set[tuple[str, str]] = set()
        self._durations: dict[str, list[float]] = {function: [] for function in _FUNCTIONS}
        self._lock = threading.Lock()

    def wrap_delivery(self, delivery: Delivery) -> InvocationWrapper | None:
        """Let some workers die at a random moment of their work, unless an earlier one died over the same work."""
        durations = self._durations.get(delivery.function)
        is_spared = delivery.receive_count > 1 or _key(delivery) in self.open or self.is_calm.is_set()
        if not durations or is_spared or random.random() >= KILLED_SHARE:
            return KillAfter(0)
        return KillAfter(random.uniform(0, statistics.median(durations)))

    def begin_outage(self) -> None:
        """Measure no work that is open when the database crashes: it waits for the database."""
        with self._lock:
            self._untimed |= self.open.keys()

    def observe(self, delivery: Delivery, ended: InvocationResult, begun: float) -> None:
        """Note a death, or that the work of a dead worker is done: by its message, or by that of a check."""
        key, now = _key(delivery), time.monotonic()
        with self._lock:
            if ended.outcome == "answered" and delivery.receive_count == 1 and delivery.function in _FUNCTIONS:
                self._durations[delivery.function].append(ended.seconds)
            if ended.outcome == "killed":
                self.open.setdefault(key, now)
            elif ended.outcome == "answered" and not (ended.answer or {}).get("batchItemFailures") and key in self.open:
                killed_at = self.open.pop(key)
                if key not in self._untimed:
                    self.resumptions[delivery.function].append(begun - killed_at)
                    self.recoveries[delivery.function].append(now - killed_at)

    def figures(self, function: str) -> dict[str, report.Cell]:
        """Return the kills of one function and how long their work took."""
        resumed, done = self.resumptions[function], self.recoveries[function]
        never = sum(name == function for name, _ in self.open)
        return {
            "what": _FUNCTIONS[function],
            "kills": len(done) + never,
            "never done": never,
            "resumed_s": report.percentile(resumed, 50) if resumed else 0.0,
            "resumed_p95_s": report.percentile(resumed, 95) if resumed else 0.0,
            "done_s": report.percentile(done, 50) if done else 0.0,
            "done_p95_s": report.percentile(done, 95) if done else 0.0,
        }


def _key(delivery: Delivery) -> tuple[str, str]:
    """Return what a delivery is work on: a check sends the same body in another message."""
    return delivery.function, json.dumps(delivery.body, sort_keys=True)


def measure(
    environment: ChaosEnvironment, office: SlowOffice, people: int, seconds: float
) -> tuple[list[dict[str, report.Cell]], dict[str, report.Cell], dict[str, list[str]]]:
    """Have so many people write in so many seconds, kill meanwhile, and wait until all are answered.

    Return the figures by function, those of the run, and what the people read who got a reply twice.
    """
    environment.event_sources = [_with_template_settings(environment, source) for source in environment.event_sources]
    kills, over = Kills(), threading.Event()
    expected: dict[str, int] = {}
    tenant = environment.create_tenant(TENANT)

    def run() -> None:
        threading.Thread(target=_crash_once, args=(environment, kills, seconds), daemon=True).start()
        _write(environment, tenant, expected, people, seconds)
        until = time.monotonic() + _PATIENCE_SECONDS
        while time.monotonic() < until and _count_missing(environment, expected):
            time.sleep(1)
        time.sleep(_DOUBLE_SECONDS)
        over.set()

    threading.Thread(target=run, daemon=True).start()
    poller = QueuePoller(
        environment, kills.wrap_delivery, kills.observe, worker_slots=WORKER_SLOTS, max_poll_seconds=0.2
    )
    poller.run(seconds + 2 * _PATIENCE_SECONDS, keep_running=lambda: True, should_stop=over.is_set)
    texts = _replies_by_phone(environment)
    doubled = {number: texts[number] for number, count in expected.items() if len(texts.get(number, [])) > count}
    heavy = sum(count > 1 for count in expected.values())
    everything: dict[str, report.Cell] = {
        "people": people,
        "lost": _count_missing(environment, expected),
        "for a person": sum(_unknown_replies(environment).values()),
        "doubled": len(doubled),
        "calls": sum(office.calls.values()),
        "doubled calls": sum(count > 1 for count in office.calls.values()),
        "missing calls": heavy - len(office.calls),
    }
    return [kills.figures(function) for function in _FUNCTIONS], everything, doubled


def _with_template_settings(environment: ChaosEnvironment, source: EventSource) -> EventSource:
    name = source.mapping.name
    [resource] = [mapping.url for mapping in EVENT_SOURCE_MAPPINGS if mapping.name == name]
    [queue] = [queue for queue in list_queue_definitions() if queue.resource == resource]
    visibility = int(queue.attributes["VisibilityTimeout"])
    mapping = replace(source.mapping, timeout_seconds=_TIMEOUT_SECONDS[name], visibility_seconds=visibility)
    return DuplicatingSource(environment.sqs, mapping)


def _write(
    environment: ChaosEnvironment, tenant: ChaosTenant, expected: dict[str, int], people: int, seconds: float
) -> None:
    """Have everybody write, evenly over the time; `expected` gets how many replies each number is to have."""
    begun = time.monotonic()
    for place in range(people):
        time.sleep(max(0.0, begun + place * seconds / people - time.monotonic()))
        number, script = environment.new_phone_number(), ("plain", "heavy")[place % 2]
        text = f"chaos {script} r{number[1:]}: hello"
        event = webhook_event(environment.webhook_payload(tenant, number, text, f"m{number}"))
        expected[number] = 1 if script == "plain" else 2
        while environment.workers.invoke("inbound", event, 30).outcome != "answered":
            time.sleep(1)  # as a provider does that hears nothing


def _crash_once(environment: ChaosEnvironment, kills: Kills, seconds: float) -> None:
    """Crash the database in the middle of the `seconds`, in a calm of its own."""
    calm = min(_CRASH_CALM_SECONDS, seconds / 4)
    time.sleep(seconds / 2 - calm)
    kills.is_calm.set()
    time.sleep(calm)
    kills.begin_outage()
    environment.cluster.crash()
    while True:
        with suppress(subprocess.SubprocessError, AssertionError):  # its recovery takes longer on a busy machine
            environment.cluster.restart()
            break
    time.sleep(calm)
    kills.is_calm.clear()


def _count_missing(environment: ChaosEnvironment, expected: Mapping[str, int]) -> int:
    """How many replies are on no phone, but for those that are left to a person."""
    texts, unknown = _replies_by_phone(environment), _unknown_replies(environment)
    return sum(
        max(0, count - len(texts.get(number, [])) - unknown.get(number, 0)) for number, count in expected.items()
    )


def _replies_by_phone(environment: ChaosEnvironment) -> dict[str, list[str]]:
    """The replies that phones have received; a line that says that a turn is still at work is none."""
    lines = {line for (line,) in environment.rows("SELECT body FROM messages WHERE metadata ? 'interim_turn_id'")}
    texts = environment.texts_by_phone()
    return {number: [text for text in received if text not in lines] for number, received in texts.items()}


def _unknown_replies(environment: ChaosEnvironment) -> dict[str, int]:
    """The replies of unknown delivery by phone number."""
    return dict(environment.rows("SELECT recipient, count(*) FROM outbox WHERE state = 'unknown' GROUP BY recipient"))
