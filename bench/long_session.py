"""Whether a conversation costs more the longer it gets: its turns, their prompts, and the work on its summary, on the
real database.

    python -m bench.long_session [--messages N ...] [--turns N] [--json FILE]

Conversations of 100, 1,000 and 10,000 messages about a record, with rows and vectors as the embedder gives them and a
summary by a model that answers at once (the first words of each message, and of the summary before as many as fit).
Each then goes on for some turns, in alternation, so that none has the machine's good minutes for itself: every turn is
made up to its first question to a model and taken back, five times, without recall, then it is had, and whatever is due
on its summary is done.

turn_ms, statements    up to the first question to a model: all is loaded, the budget spent, the prompt made and kept.
prompt_tokens          of that question; summary_tokens: of layer 3 alone; the largest of the turns.
compactions            how many summaries were written meanwhile; their milliseconds (median), and the most
                       statements of one and tokens that the model was asked to read for one.
ratio_10000_to_100     of the longest conversation to the shortest: what the design wants below 1.2.
"""

import argparse
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal

from bench import report
from bench.long_conversations import LIVE, Directions, Talk, sentence, talk
from bench.scripted_memory_model import Summariser
from bench.turn_rounds import Round
from local import temporary_database
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.memory_job import MemoryJob
from parlour.memory.summaries import summary_job
from parlour.prompts.assembly.segment import Layer
from parlour.records.linked_records import LinkedRecordsCache
from tests.conversation_harness import ConversationHarness, open_conversation_harness, text_answer

SIZES = (100, 1_000, 10_000)
TURNS = 24
"""Of each conversation: some four compactions."""

_LOOKS = 5
"""At each turn: of two dozen times one by one a median may be a quarter off on a machine that others work on, too."""

_PLENTY = Decimal(1_000_000)


@dataclass
class Measured:
    """One conversation while it goes on."""

    seconds: list[float] = field(default_factory=list)
    statements: list[int] = field(default_factory=list)
    prompt: list[int] = field(default_factory=list)
    summary: list[int] = field(default_factory=list)
    compactions: list[float] = field(default_factory=list)
    compacting: list[int] = field(default_factory=list)
    read: list[int] = field(default_factory=list)

    def figures(self, messages: int) -> dict[str, report.Cell]:
        """What is printed and written."""
        return {
            "messages": messages,
            "turn_ms": _median_ms(self.seconds),
            "statements": max(self.statements),
            "prompt_tokens": max(self.prompt),
            "summary_tokens": max(self.summary),
            "compactions": len(self.compactions),
            "compaction_ms": _median_ms(self.compactions),
            "compaction_statements": max(self.compacting, default=0),
            "compaction_tokens": max(self.read, default=0),
        }


def main() -> None:
    options = _options()
    logging.disable(logging.INFO)
    with (
        temporary_database.temporary_cluster() as running,
        closing(temporary_database.create_migrated_database(running)) as database,
    ):

        def settle() -> None:
            with running.connect_as_superuser("scratch") as owner:
                owner.execute("VACUUM ANALYZE")

        figures = measured(database, options.messages, options.turns, settle)
    logging.disable(logging.NOTSET)
    report.write(options.json, figures)


def measured(
    database: Database, sizes: Sequence[int], turns: int, settle: Callable[[], None] = lambda: None
) -> JsonObject:
    """All figures, shown and as they are written; the sizes are in messages, shortest first. What was written long ago
    has been looked over by the database since, so that it knows how much there is: `settle` sees to that."""
    desk = open_conversation_harness(database, datetime.now(UTC))
    desk.embedder = embedder = Directions()
    before = [max(2 * LIVE + 2, size - 2 * turns) for size in sizes]
    going = [_Going(desk, embedder, talk(desk, embedder, messages)) for messages in before]
    for one in going:
        one.summarise()
        one.measured = Measured()
    settle()
    for number in range(turns):
        for one in going:
            one.turn(number)
    rows = [one.measured.figures(messages + 2 * turns) for one, messages in zip(going, before, strict=True)]
    report.show(f"{turns} turns of conversations of so many messages", rows)
    ratios = {
        name: round(float(rows[-1][name]) / max(float(rows[0][name]), 0.01), 2)
        for name in ("turn_ms", "prompt_tokens", "summary_tokens", "compaction_ms", "compaction_tokens")
    }
    report.show("The longest beside the shortest", [{**ratios}])
    return {"sessions": [{**row} for row in rows], "ratio_10000_to_100": {**ratios}}


@dataclass
class _Going:
    """A conversation that goes on, and whoever writes its summary."""

    desk: ConversationHarness
    embedder: Directions
    talk: Talk
    model: Summariser = field(default_factory=Summariser)
    measured: Measured = field(default_factory=Measured)
    links: LinkedRecordsCache = field(default_factory=LinkedRecordsCache)

    def turn(self, number: int) -> None:
        """One turn looked at, then had, and what is due on the summary after it."""
        question = f"{sentence(5_000_000 + number)} When was that?"
        self.desk.clock.now = datetime.now(UTC)
        for _ in range(_LOOKS):
            looked_at = Round(self.desk, self.talk.session_id, lambda: self._write(question), False, self.links)
            ran = looked_at.run()
            looked_at.take_back()
            self.measured.seconds.append(ran.seconds)
            self.measured.statements.append(ran.statements)
        layers = ran.assembled.tokens_by_layer
        self.measured.prompt.append(sum(layers.values()))
        self.measured.summary.append(layers.get(Layer.SUMMARY.name.lower(), 0))
        self._write(question)
        self.desk.model.script = [text_answer(sentence(-5_000_000 - number))]
        self.desk.run_turn()
        self.summarise()

    def summarise(self) -> None:
        """Whatever is due."""
        desk, session = self.desk, self.talk.session_id
        due = f"SELECT 1 FROM work_due WHERE kind = 'summary' AND id = '{session}'"
        versions = f"SELECT count(*) FROM summaries WHERE session_id = '{session}'"
        while desk.query(due):
            (before,), counted = desk.query(versions), desk.database.statements.count
            begun = time.perf_counter()
            summary_job.run_summary(self._services(), MemoryJob(desk.tenant_id, "summary", session), lambda: 600.0)
            seconds = time.perf_counter() - begun
            if desk.query(versions) == [before]:
                break
            self.measured.compactions.append(seconds)
            self.measured.compacting.append(desk.database.statements.count - counted)
            self.measured.read.append(self.model.read[-1])

    def _write(self, text: str) -> None:
        self.desk.send_web(self.talk.visitor, self.talk.session_id, text)

    def _services(self) -> MemoryDependencies:
        desk = self.desk
        return MemoryDependencies(
            desk.database,
            lambda: {"anthropic": self.model},
            _PLENTY,
            desk.memory,
            desk.embedding,
            desk.clock,
            lambda _: None,
            lambda low, _: low,
        )


def _options() -> argparse.Namespace:
    parser = report.parser(__doc__ or "")
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--messages", type=int, nargs="+", default=list(SIZES), metavar="N", help="shortest first")
    parser.add_argument("--turns", type=int, default=TURNS, metavar="N", help="that each goes on for")
    return parser.parse_args()


def _median_ms(seconds: Sequence[float]) -> float:
    return round(report.percentile(seconds, 50) * 1000, 2) if seconds else 0.0


if __name__ == "__main__":
    main()
