"""What a turn costs besides the model: time, statements and bytes, on the real database.

    python -m bench.turn [--json FILE]

A scripted model answers at once, so that what is left is Parlour's own work. The baseline is one empty transaction
on the same connection (begin, set the tenant, commit): ratios to it hold on any machine, milliseconds on this one.
The webhook's way to the queue is measured over HTTP, through the deployed function in the AWS emulator.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from bench import report
from bench.webhook import POSTS, post_to_queue
from local import temporary_database
from parlour.infra.postgres import StatementCounts
from tests.conversation_harness import ConversationHarness, open_conversation_harness, search_call, text_answer

TURNS = 200
WARM_UP = 20


@dataclass
class Measured:
    """Seconds of each round, and statements and parameter bytes of all of them."""

    seconds: list[float] = field(default_factory=list)
    statements: int = 0
    sent: int = 0

    def row(self, name: str, baseline: float) -> dict[str, report.Cell]:
        p50 = report.percentile(self.seconds, 50) * 1000
        return {
            "what": name,
            "p50 ms": p50,
            "p95 ms": report.percentile(self.seconds, 95) * 1000,
            "x empty transaction": p50 / baseline,
            "statements": round(self.statements / len(self.seconds), 1),
            "bytes sent": round(self.sent / len(self.seconds)),
        }


@dataclass(slots=True)
class Weighed(StatementCounts):
    """Counts the bytes of the parameters too, as text."""

    sent: int = 0

    def add(self, name: str, parameters: object = None) -> None:
        StatementCounts.add(self, name)
        self.sent += len(str(parameters).encode()) if parameters else 0


def main() -> None:
    file = report.json_file(__doc__ or "")
    with temporary_database.temporary_database() as database:
        desk = open_conversation_harness(database, datetime.now(UTC))
        empty = measure(desk, _nothing, lambda _: _begin_and_commit(desk))
        baseline = report.percentile(empty.seconds, 50) * 1000
        rows = [
            empty.row("empty transaction (baseline)", baseline),
            measure(desk, _nothing, lambda number: _receive(desk, f"receive-{number}")).row("receive", baseline),
            measure(desk, _answer, lambda _: desk.run_turn()).row("turn, plain answer", baseline),
            measure(desk, _search, lambda _: desk.run_turn()).row("turn, one search, cited", baseline),
        ]
    report.show(f"A turn without its model ({TURNS} rounds, one session that grows)", rows)
    webhook = post_to_queue()
    report.show(f"A webhook's way to the queue, over HTTP through the deployed function ({POSTS} each)", webhook)
    report.write(file, {"rounds": TURNS, "turn": rows, "post_to_queue": webhook})


def measure(
    desk: ConversationHarness, prepare: Callable[[ConversationHarness], None], work: Callable[[int], None]
) -> Measured:
    """Run `work` again and again, each time after `prepare`; warm-up rounds do not count."""
    measured = Measured()
    for number in range(WARM_UP + TURNS):
        prepare(desk)
        desk.clock.now = datetime.now(UTC)
        desk.database.statements = counted = Weighed()
        begun = time.perf_counter()
        work(number)
        took = time.perf_counter() - begun
        if number >= WARM_UP:
            measured.seconds.append(took)
            measured.statements += counted.count
            measured.sent += counted.sent
    return measured


def _nothing(_: ConversationHarness) -> None:
    """There is nothing to prepare."""


def _begin_and_commit(desk: ConversationHarness) -> None:
    with desk.database.transaction(desk.tenant_id):
        pass


def _receive(desk: ConversationHarness, provider_id: str) -> None:
    desk.send_whatsapp("How wide is the crack at C4?", provider_id)


def _answer(desk: ConversationHarness) -> None:
    _receive(desk, f"ask-{time.perf_counter_ns()}")
    desk.model.script = [text_answer("It is 0.35 mm wide, measured on 18 February.")]


def _search(desk: ConversationHarness) -> None:
    _receive(desk, f"ask-{time.perf_counter_ns()}")
    desk.model.script = [
        search_call("crack width at C4"),
        text_answer("It is 0.35 mm wide [1], measured on 18 February [2]."),
    ]


if __name__ == "__main__":
    main()
