"""What becomes of messages whose workers are killed: all are answered, once, and how soon.

    python -m bench.recovery [--json FILE] [--quick]

People write by WhatsApp for a minute. Meanwhile random workers of any function are killed in the middle of their work,
every fifth delivery comes twice, and the database crashes once. The handlers run in workers of their own, on a real
database and the emulator's queues, with the visibility that the template gives the queues. Nothing sweeps: that is how
the deployment `DATABASE=idle` works, where only messages wake what was left lying.

    lost     people who were never answered
    doubled  people who were answered twice
    waiting  people who waited for an answer when the last worker was killed
    p95_s    seconds from the last kill to the answer, of those people
"""

import logging
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, override

import httpx2

from bench import report
from local.event_source import EventSource
from local.scripted_model import Script
from local.workers import InvocationResult, InvocationWrapper, WorkerPool
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant, open_chaos_environment, webhook_event
from tests.chaos.queue_poller import QueuePoller

PEOPLE = 120
SECONDS = 60.0
SECONDS_BETWEEN_KILLS = 2.0
MODEL_SECONDS = 3.0
DUPLICATE_SHARE = 0.2

WORKER_SLOTS = 12

_PATIENCE_SECONDS = 300.0
"""After the last kill; whoever has no answer then has lost their message."""

_DOUBLE_SECONDS = 5.0
"""How long after the last answer a second one of somebody's is waited for."""

_LIMITS = {"intake": (60, 90), "turns": (180, 1080), "web": (180, 1080), "outbox": (60, 90), "wakeups": (60, 90)}
"""Timeout and visibility of each queue in seconds, as in the template."""


class DuplicatingSource(EventSource):
    """A mapping that has some messages handled twice, as a standard queue may."""

    @override
    def handle(
        self, workers: WorkerPool, records: Sequence[Mapping[str, Any]], wrap: InvocationWrapper | None = None
    ) -> InvocationResult:
        ended = super().handle(workers, records, wrap)
        if random.random() < DUPLICATE_SHARE:
            workers.invoke(self.mapping.function, {"Records": list(records)}, self.mapping.timeout_seconds)
        return ended


class Traffic:
    """People who write, and a killer of random workers; `kills`: by function, `written`: when each number wrote."""

    def __init__(self, environment: ChaosEnvironment, tenant: ChaosTenant, people: int, seconds: float) -> None:
        self._environment = environment
        self._tenant = tenant
        self._seconds = seconds
        self._numbers = [environment.new_phone_number() for _ in range(people)]
        self.written: dict[str, float] = {}
        self.kills: Counter[str] = Counter()
        self.last_kill = 0.0

    def write(self) -> None:
        """Have everybody write, evenly over the time."""
        begun = time.monotonic()
        for place, number in enumerate(self._numbers):
            time.sleep(max(0.0, begun + place * self._seconds / len(self._numbers) - time.monotonic()))
            text, message = f"chaos plain r{number[1:]}: hello", f"m{number}"
            event = webhook_event(self._environment.webhook_payload(self._tenant, number, text, message))
            self.written[number] = time.time()
            while self._environment.workers.invoke("inbound", event, 30).outcome != "answered":
                time.sleep(1)  # as a provider does that hears nothing

    def kill(self) -> None:
        """Kill a worker every few seconds, and the database once."""
        over, crash_at = time.monotonic() + self._seconds, time.monotonic() + self._seconds / 2
        while time.monotonic() < over:
            time.sleep(SECONDS_BETWEEN_KILLS)
            if busy := self._environment.workers.list_busy():
                victim = random.choice(busy)
                victim.kill_process()
                self.kills[victim.function] += 1
                self.last_kill = time.time()
            if time.monotonic() > crash_at:
                crash_at = over
                self._environment.cluster.crash()
                self._environment.cluster.restart()

    def run(self, over: threading.Event) -> None:
        """Write and kill, then wait for the answers."""
        killing = threading.Thread(target=self.kill, daemon=True)
        killing.start()
        self.write()
        killing.join()
        until = time.time() + _PATIENCE_SECONDS
        while time.time() < until and len(_answers(self._environment)) < len(self._numbers):
            time.sleep(1)
        time.sleep(_DOUBLE_SECONDS)
        over.set()


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--quick", action="store_true", help="few people: to see that it works")
    asked = parser.parse_args()
    logging.disable(logging.INFO)
    people, seconds = (10, 10.0) if asked.quick else (PEOPLE, SECONDS)
    with open_chaos_environment({"plain": Script(pause_seconds=MODEL_SECONDS)}) as environment:
        figures = measure(environment, people, seconds)
    report.show("Messages under random kills", [figures])
    report.write(asked.json, figures)


def measure(environment: ChaosEnvironment, people: int, seconds: float) -> dict[str, report.Cell]:
    """Have so many people write in so many seconds, kill meanwhile, and wait until all are answered."""
    environment.event_sources = [
        _with_limits(environment, source) for source in environment.event_sources if source.mapping.name in _LIMITS
    ]
    traffic = Traffic(environment, environment.create_tenant("kills"), people, seconds)
    over = threading.Event()
    threading.Thread(target=traffic.run, args=(over,), daemon=True).start()
    poller = QueuePoller(environment, worker_slots=WORKER_SLOTS, max_poll_seconds=0.2)
    poller.run(2 * _PATIENCE_SECONDS, keep_running=lambda: True, should_stop=over.is_set)
    answers = _answers(environment)
    waits = [times[0] - traffic.last_kill for times in answers.values() if times[0] > traffic.last_kill]
    waited = [times[0] - traffic.written[number] for number, times in answers.items()]
    return {
        "people": people,
        "kills": sum(traffic.kills.values()),
        "kills in turns": traffic.kills["orchestrator"],
        "lost": people - len(answers),
        "doubled": sum(len(times) > 1 for times in answers.values()),
        "waiting": len(waits),
        "p95_s": report.percentile(waits, 95) if waits else 0.0,
        "waited_p95_s": report.percentile(waited, 95),
        "waited_max_s": max(waited),
    }


def _with_limits(environment: ChaosEnvironment, source: EventSource) -> EventSource:
    timeout, visibility = _LIMITS[source.mapping.name]
    mapping = replace(source.mapping, timeout_seconds=timeout, visibility_seconds=visibility)
    return DuplicatingSource(environment.sqs, mapping)


def _answers(environment: ChaosEnvironment) -> dict[str, list[float]]:
    """When each phone received what, by number; in seconds since 1970."""
    found: dict[str, list[float]] = {}
    for message in httpx2.get(f"{environment.servers.phone}/messages", timeout=10).json()["messages"]:
        found.setdefault(message["to"], []).append(datetime.fromisoformat(message["at"]).timestamp())
    return found


if __name__ == "__main__":
    main()
