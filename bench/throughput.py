"""How many turns two cores answer, and how the wait grows with the number of people who talk at once.

    python -m bench.throughput [--json FILE] [--quick]

The handlers as they are deployed, in worker processes, on a real database and the emulator's queues, with the offline
model: what is measured is Parlour's own work and its queues', not a model's. The baseline of every wait is that of one
session by itself, in the same run: ratios hold on any machine, milliseconds on this one.
"""

import logging
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import psutil

from bench import report
from local.workers import InvocationResult
from parlour.infra.postgres import StatementCounts
from tests.chaos.chaos_environment import ChaosEnvironment, ChaosTenant, open_chaos_environment, webhook_event
from tests.chaos.queue_poller import Delivery, QueuePoller

SESSIONS = (1, 10, 100, 1_000)
QUICK = (1, 5)
ROUNDS = 10
"""Messages of the one session that is the baseline; the others write one each, all at the same moment."""

WORKERS = 4
"""Of each function at most; two cores are busy with fewer."""

_QUESTION = "How wide is the crack at C4?"

_WAITS = """
SELECT u.phone, extract(epoch FROM min(m.sent_at)) FROM messages m JOIN sessions s ON s.id = m.session_id
  JOIN users u ON u.id = s.user_id
 WHERE m.tenant_id = %s AND m.direction = 'outbound' GROUP BY u.phone
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """sessions at once; seconds each waited from the webhook to the reply row; seconds until all had it."""

    sessions: int
    waits: list[float]
    took: float


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--quick", action="store_true", help="few sessions: to see that it works")
    asked = parser.parse_args()
    logging.disable(logging.INFO)
    sizes = QUICK if asked.quick else SESSIONS
    with open_chaos_environment({}, offline=True) as running:
        _warm_up(running)
        measured = list(_all(running, sizes))
        weighed = weigh(running)
    baseline = statistics.median(measured[0].waits)
    rows = [_row(one, baseline) for one in measured]
    report.show(f"The way of a message, from the webhook to the reply row ({psutil.cpu_count()} cores)", rows)
    report.show("What each function asks of the database, per invocation", weighed)
    report.write(asked.json, {"cores": psutil.cpu_count(), "workers": WORKERS, "throughput": rows, "turn": weighed})


def _all(running: ChaosEnvironment, sizes: Sequence[int]) -> Iterator[Measured]:
    """Every size on a tenant of its own; of one session, several rounds."""
    for size in sizes:
        if size == 1:
            rounds = [
                measure(running, running.create_tenant(f"one-{number}", with_knowledge=True), 1)
                for number in range(ROUNDS)
            ]
            yield Measured(1, [wait for one in rounds for wait in one.waits], sum(one.took for one in rounds))
        else:
            yield measure(running, running.create_tenant(f"many-{size}", with_knowledge=True), size)


def measure(running: ChaosEnvironment, desk: ChaosTenant, sessions: int) -> Measured:
    """So many people write at the same moment; wait until all have their reply."""
    numbers = [running.new_phone_number() for _ in range(sessions)]
    begun: dict[str, float] = {}

    def write(number: str) -> None:
        begun[number] = time.time()
        payload = running.webhook_payload(desk, number, _QUESTION, f"bench-{number}")
        ended = running.workers.invoke("inbound", webhook_event(payload), 30)
        if ended.outcome != "answered" or ended.answer["statusCode"] != 200:
            raise LookupError(f"the webhook was answered with {ended}")

    with ThreadPoolExecutor(2) as writing:
        written = [writing.submit(write, number) for number in numbers]
        QueuePoller(running, worker_slots=WORKERS, seconds=60, intake_batch_size=10, max_poll_seconds=0.02).run(
            1_800, keep_running=lambda: not all(one.done() for one in written)
        )
        for one in written:
            one.result()
    answered = {number: float(at) for number, at in running.rows(_WAITS, desk.tenant_id)}
    waits = [answered[number] - begun[number] for number in numbers]
    return Measured(sessions, waits, max(answered.values()) - min(begun.values()))


def weigh(running: ChaosEnvironment) -> list[dict[str, report.Cell]]:
    """Statements, and bytes of their parameters, of each function on the way of one conversation's messages."""
    desk, totals = running.create_tenant("weighed", with_knowledge=True), Totals()
    number = running.new_phone_number()
    for message in range(ROUNDS):
        running.workers.invoke(
            "inbound", webhook_event(running.webhook_payload(desk, number, _QUESTION, f"weighed-{message}")), 30
        )
        QueuePoller(running, lambda _: Scales(), totals, worker_slots=1, seconds=60).run(60)
    return [
        {
            "function": function,
            "invocations": count,
            "statements": statements / count,
            "bytes sent": round(sent / count),
        }
        for function, (count, statements, sent) in totals.by_function.items()
    ]


@dataclass(frozen=True, slots=True)
class Weighed:
    """What a handler answered, and how many statements and bytes of parameters that took."""

    answer: Any
    statements: int
    sent: int


@dataclass(frozen=True, slots=True)
class Scales:
    """Put around a handler in its worker."""

    needs_cold_worker: bool = False

    def __call__(self, call: Callable[[], Any], /) -> Weighed:
        seen: list[int] = []

        def note(_: StatementCounts, _name: str, parameters: object = None) -> None:
            seen.append(len(str(parameters).encode()) if parameters else 0)

        with mock.patch.object(StatementCounts, "add", note):
            answer = call()
        return Weighed(answer, len(seen), sum(seen))


@dataclass(slots=True)
class Totals:
    """Invocations, statements and bytes, by function."""

    by_function: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def __call__(self, delivery: Delivery, ended: InvocationResult, _begun: float) -> None:
        if isinstance(ended.answer, Weighed):
            count, statements, sent = self.by_function.get(delivery.function, (0, 0, 0))
            weighed = ended.answer
            added = (count + 1, statements + weighed.statements, sent + weighed.sent)
            self.by_function[delivery.function] = added


def _warm_up(running: ChaosEnvironment) -> None:
    """The first worker of each function opens its connections. No wait for a burst's other messages: everybody here
    writes once, and the queue's two seconds would hide what is measured."""
    turns = next(source for source in running.event_sources if source.mapping.name == "turns")
    running.sqs.set_queue_attributes(QueueUrl=turns.mapping.url, Attributes={"DelaySeconds": "0"})
    measure(running, running.create_tenant("warm-up", with_knowledge=True), WORKERS)


def _row(one: Measured, baseline: float) -> dict[str, report.Cell]:
    many = one.sessions > 1
    return {
        "sessions at once": one.sessions,
        "turns a second": one.sessions / one.took if many else len(one.waits) / one.took,
        "p50 s": report.percentile(one.waits, 50),
        "p95 s": report.percentile(one.waits, 95),
        "p50 x one session": report.percentile(one.waits, 50) / baseline,
        "p95 x one session": report.percentile(one.waits, 95) / baseline,
    }


if __name__ == "__main__":
    main()
