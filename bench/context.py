"""What a turn's prompt costs to make, whatever the length of its conversation: time and statements, on the real
database.

    python -m bench.context [--json FILE]

Measured is all that happens between a turn's beginning and its first call to a model: everything is loaded, older
messages are recalled, the budget is spent, the prompt rendered, and its record kept. The conversations are about a
record; all but the shortest have a history that was cut. The question is embedded in no time: what the embedder took
is subtracted. What a record is linked to is kept for a minute, as every worker keeps it. The ratios are those of the
medians of 10,000 messages and of 10, with recall and without. The rounds of all conversations alternate, so that none
has the machine's good minutes for itself.

A turn that was measured is taken back, so that every round finds the same conversation. The bytes of a turn's record
are those of its row and of the texts that no earlier prompt of the month had, as the database keeps them.
"""

import argparse
import logging
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count

from bench import report
from bench.long_talks import Directions, Talk, sentence, talk
from local import scratch
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Query
from parlour.knowledge.records.linked import LinkCache
from parlour.principal import system
from parlour.turns import store
from parlour.turns.events import Feed
from parlour.turns.load import Loaded, load
from parlour.turns.prompts.store import Asking
from parlour.turns.recalling import add_recalled
from parlour.turns.running import Running, Services
from parlour.turns.timing import Stages
from tests.desk import Desk, open_desk

SESSIONS = (10, 100, 1_000, 10_000)
ROUNDS = 200
WARM_UP = 20
_MODEL = "anthropic/claude-sonnet-5-5"
_LEASE_SECONDS = 60.0


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
    with scratch.cluster() as running:
        database = scratch.opened(running)
        desk = open_desk(database, datetime.now(UTC))
        desk.embedder = embedder = Directions()
        talks = [talk(desk, embedder, messages) for messages in options.messages]
        with running.superuser("scratch") as owner:
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


def _measure(desk: Desk, embedder: Directions, talks: list[Talk], rounds: int) -> tuple[list[Measured], list[Measured]]:
    """With recall and without, for each conversation."""
    found = [Measured() for _ in talks], [Measured() for _ in talks]
    numbers, links = count(1_000_000), LinkCache()
    for number in range(WARM_UP + rounds):
        for place, one in enumerate(talks):
            for side, measured in enumerate(found):
                round_ = _Round(desk, embedder, one, f"{sentence(next(numbers))} When was that?", side == 0, links)
                seconds, statements = round_.run()
                if number >= WARM_UP:
                    measured[place].seconds.append(seconds)
                    measured[place].statements += statements
                    measured[place].kept += round_.kept()
                round_.take_back()
    return found


@dataclass
class _Round:
    """One turn, from its material to its record."""

    desk: Desk
    embedder: Directions
    talk: Talk
    question: str
    recalls: bool
    links: LinkCache

    def __post_init__(self) -> None:
        self.desk.clock.now = datetime.now(UTC)
        self.desk.write_web(self.talk.visitor, self.talk.session_id, self.question)
        self._standing = self._rows_of("SELECT standing, briefing FROM session_prompts")
        self.running = self._begun(replace(self.desk.services(), links=self.links))
        ((self._blobs,),) = self.desk.rows("SELECT COALESCE(sum(pg_column_size(b.*)), 0) FROM ledger_blobs b")

    def run(self) -> tuple[float, int]:
        """Seconds and statements."""
        running, services = self.running, self.running.services
        embedded, counted = self.embedder.took, self.desk.database.statements.count
        begun = time.perf_counter()
        transact, now = partial(services.database.run, running.feed.principal), services.clock()

        def read(tx: Transaction) -> Loaded:
            return load(
                tx, running.lease, running.turn, running.inputs, services.links, services.models, now, later=transact
            )  # fmt: skip

        loaded: Loaded = transact(read)
        if self.recalls:
            add_recalled(running, loaded)
        assembled = loaded.prompting.next(1, (), _MODEL)
        provider, model = _MODEL.split("/")
        asking = Asking(running.lease.id, running.turn.id, provider, model, services.clock())
        keep = loaded.prompting.keep(asking, 1, assembled)
        services.database.run(running.feed.principal, keep)
        seconds = time.perf_counter() - begun - (self.embedder.took - embedded)
        return seconds, self.desk.database.statements.count - counted

    def kept(self) -> int:
        """Bytes of the record."""
        ((row, blobs),) = self.desk.rows(
            "SELECT (SELECT sum(pg_column_size(l.*)) FROM ledgers l"
            f" WHERE turn_id = '{self.running.turn.id}'), sum(pg_column_size(b.*)) FROM ledger_blobs b"
        )
        return int(str(row)) + int(str(blobs)) - int(str(self._blobs))

    def take_back(self) -> None:
        """The conversation as it was before."""
        turn, session = self.running.turn.id, self.talk.session_id
        self.desk.rows(f"DELETE FROM messages WHERE turn_id = '{turn}' RETURNING id")
        self.desk.rows(f"DELETE FROM turns WHERE id = '{turn}' RETURNING id")
        self.desk.rows(f"DELETE FROM sources WHERE session_id = '{session}' RETURNING row_id")
        self.desk.rows(f"UPDATE sessions SET lease_until = NULL WHERE id = '{session}' RETURNING id")
        with self.desk.database.transaction(self.desk.tenant_id) as tx:
            for standing, briefing in self._standing:
                tx.run(_RESTORE, session_id=session, standing=standing, briefing=briefing)

    def _begun(self, services: Services) -> Running:
        now = services.clock()
        holder, turn_id = uuid7(now), uuid7(now)
        with services.database.transaction(self.desk.tenant_id) as tx:
            lease = store.take_lease(tx, self.talk.session_id, holder, now, now + timedelta(seconds=_LEASE_SECONDS))
            assert lease is not None
            turn = store.begin_turn(tx, lease, turn_id, now)
            assert turn is not None
            inputs = tuple(store.inputs(tx, turn.id))
        feed = Feed(system(self.desk.tenant_id), services.database, lease, turn.id, services.clock)
        return Running(services, lease, turn, inputs, feed, Stages(services.clock), lambda: _LEASE_SECONDS)

    def _rows_of(self, statement: str) -> list[tuple[object, ...]]:
        return self.desk.rows(f"{statement} WHERE session_id = '{self.talk.session_id}'")


def _row(one: Talk, recalls: str, measured: Measured) -> dict[str, report.Cell]:
    return {
        "messages": one.messages, "recall": recalls, "p50 ms": measured.milliseconds(50),
        "p95 ms": measured.milliseconds(95), "statements": measured.statements_a_turn,
    }  # fmt: skip


def _figures(talks: list[Talk], with_recall: list[Measured], without: list[Measured]) -> JsonObject:
    return {
        "sessions": [
            {
                "messages": one.messages, "p50_ms": measured.milliseconds(50), "p95_ms": measured.milliseconds(95),
                "statements": measured.statements_a_turn,
            }
            for one, measured in zip(talks, with_recall, strict=True)
        ],
        "ratio_10000_to_10": _ratio(with_recall),
        "ratio_without_recall": _ratio(without),
        "ledger_bytes_per_turn": round(with_recall[-1].kept / len(with_recall[-1].seconds)),
    }  # fmt: skip


def _ratios(figures: JsonObject) -> dict[str, report.Cell]:
    return {name: one for name, one in figures.items() if isinstance(one, int | float)}


def _ratio(measured: list[Measured]) -> float:
    return round(measured[-1].milliseconds(50) / measured[0].milliseconds(50), 2)


_RESTORE = Query(
    "bench.restore", "What a conversation's next prompt stands on, as it was.",
    "UPDATE session_prompts SET standing = %(standing)s, briefing = %(briefing)s WHERE session_id = %(session_id)s",
)  # fmt: skip

if __name__ == "__main__":
    main()
