"""What a turn's prompt costs to make, whatever the length of its conversation: time and statements, on the real
database.

    python -m bench.context [--json FILE]

Measured is all that happens between a turn's beginning and its first call to a model: everything is loaded, older
messages are recalled, the budget is spent, the prompt rendered, and its record kept. The conversations are about a
record; all but the shortest have a history that was cut. The time of the embedder is subtracted. The links of a record
are cached for a minute, as in every worker. The ratios are those of the medians of 10,000 messages and of 10, with
recall and without. The rounds of all conversations alternate, so that none has the machine's good minutes for itself.
Database and worker share the machine, which on AWS they do not.

A turn that was measured is taken back, so that every round finds the same conversation. The bytes of a turn's record
are those of its row and of the texts that no earlier prompt of the month had, as the database keeps them.
"""

import argparse
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count, product

from bench import report
from bench.long_conversations import Directions, Talk, sentence, talk
from bench.turn_rounds import Ran, Round
from local import temporary_database
from parlour.infra.json_values import JsonObject
from parlour.records.linked_records import LinkedRecordsCache
from tests.conversation_harness import ConversationHarness, open_conversation_harness

SESSIONS = (10, 100, 1_000, 10_000)
ROUNDS = 200
WARM_UP = 20


@dataclass
class Measured:
    """Seconds and statements of each round, and bytes that were kept."""

    seconds: list[float] = field(default_factory=list)
    statements: int = 0
    kept: int = 0

    @property
    def statements_a_turn(self) -> float:
        return round(self.statements / len(self.seconds), 1)

    def milliseconds(self, percent: int) -> float:
        return round(report.percentile(self.seconds, percent) * 1000, 2)


def main() -> None:
    logging.disable(logging.INFO)
    options = _options()
    with temporary_database.temporary_cluster() as running:
        database = temporary_database.create_migrated_database(running)
        desk = open_conversation_harness(database, datetime.now(UTC))
        desk.embedder = embedder = Directions()
        talks = [talk(desk, embedder, messages) for messages in options.messages]
        with running.connect_as_superuser("scratch") as owner:
            owner.autocommit = True
            owner.execute("VACUUM ANALYZE")
        with_recall, without = _measure(desk, embedder, talks, options.rounds)
        database.close()
    rows = [
        _row(one, recalls, measured)
        for recalls, side in (("yes", with_recall), ("no", without))
        for one, measured in zip(talks, side, strict=True)
    ]
    report.show(f"A turn up to its first call to a model ({options.rounds} rounds each)", rows)
    figures = _figures(talks, with_recall, without)
    report.show("The longest beside the shortest", [_ratios(figures)])
    report.write(options.json, figures)


def _options() -> argparse.Namespace:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of each conversation, with recall and without")
    parser.add_argument(
        "--messages", type=int, nargs="+", default=list(SESSIONS), help="lengths of the conversations, shortest first"
    )
    return parser.parse_args()


def _measure(
    desk: ConversationHarness, embedder: Directions, talks: list[Talk], rounds: int
) -> tuple[list[Measured], list[Measured]]:
    """With recall and without, for each conversation."""
    found = [Measured() for _ in talks], [Measured() for _ in talks]
    numbers, links = count(1_000_000), LinkedRecordsCache()

    def alternate(rounds: int) -> Iterator[tuple[Measured, Round, Ran]]:
        for place, side in product([*range(len(talks))] * rounds, range(2)):
            said = sentence(next(numbers))
            round_ = _round(desk, embedder, talks[place], said, links, recalls=side == 0)
            yield found[side][place], round_, round_.run()
            round_.take_back()

    for _ in alternate(WARM_UP):
        pass
    for measured, round_, ran in alternate(rounds):
        measured.seconds.append(ran.seconds)
        measured.statements += ran.statements
        measured.kept += round_.kept()
    return found


def _round(
    desk: ConversationHarness, embedder: Directions, one: Talk, said: str, links: LinkedRecordsCache, *, recalls: bool
) -> Round:
    """One turn of the conversation, at the time that it is by now."""
    desk.clock.now = datetime.now(UTC)
    question = f"{said} When was that?"
    return Round(
        desk,
        one.session_id,
        lambda: desk.send_web(one.visitor, one.session_id, question),
        recalls,
        links,
        lambda: embedder.took,
    )


def _row(one: Talk, recalls: str, measured: Measured) -> dict[str, report.Cell]:
    return {
        "messages": one.messages,
        "recall": recalls,
        "p50 ms": measured.milliseconds(50),
        "p95 ms": measured.milliseconds(95),
        "statements": measured.statements_a_turn,
    }


def _figures(talks: list[Talk], with_recall: list[Measured], without: list[Measured]) -> JsonObject:
    return {
        "sessions": [
            {
                "messages": one.messages,
                "p50_ms": measured.milliseconds(50),
                "p95_ms": measured.milliseconds(95),
                "statements": measured.statements_a_turn,
            }
            for one, measured in zip(talks, with_recall, strict=True)
        ],
        "ratio_10000_to_10": _ratio(with_recall),
        "ratio_without_recall": _ratio(without),
        "ledger_bytes_per_turn": round(with_recall[-1].kept / len(with_recall[-1].seconds)),
    }


def _ratios(figures: JsonObject) -> dict[str, report.Cell]:
    return {name: one for name, one in figures.items() if isinstance(one, int | float)}


def _ratio(measured: list[Measured]) -> float:
    return round(measured[-1].milliseconds(50) / measured[0].milliseconds(50), 2)


if __name__ == "__main__":
    main()
