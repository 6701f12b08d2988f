"""What a turn leaves in the database: at once, after a week, and when the records of prompts are gone.

    python -m bench.growth [--turns N] [--json FILE]

Conversations of ten turns on the web, each a search and a streamed reply of about a thousand characters by a scripted
model. What was said gets its rows and vectors, as the embedder gives them. Then the clock moves a week on and the sweep
runs, and again `LedgerDays` and a month later. Before each count `VACUUM FULL` removes dead rows. Sizes include indexes
and TOAST.

transactions_per_streamed_turn  from the lease to the reply.
transactions_with_looks         all of one turn in real time with a follower: those, the worker's looks for a stop, and
                                the follower's looks for events and its reads. The model takes a second before each
                                answer and writes for seven.
bytes_per_turn_at_rest          after a week; `after_ledger_days` without the records of prompts.
rebuilt                         prompts of the turns that are rebuilt byte for byte after a week, of all of them.
"""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from threading import Thread
from uuid import UUID

from bench import report
from bench.long_conversations import Directions, sentence
from local import temporary_database
from local.database import APP_ROLE, Cluster
from parlour.api.database_pool import DatabasePool
from parlour.api.feed_watch import FeedWatch
from parlour.bootstrap.sweep import SweepQueues, finders
from parlour.conversations import event_feed
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, connector
from parlour.jobs.sweep import SweepDependencies, sweep
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage, content_blocks
from parlour.prompts.ledger.rebuilt_prompt import rebuild_turn_prompt
from parlour.records import backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedding_job import EmbeddingDependencies
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from tests.conversation_harness import (
    ConversationHarness,
    FakeDelayedQueue,
    FakeQueue,
    TickingClock,
    open_conversation_harness,
)

TURNS = 300
_TURNS_PER_CONVERSATION = 10
_SENTENCES = 14
_SECONDS_PER_DELTA = 0.04
_SECONDS_TO_FIRST_TOKEN = 1.0
_LEDGER_DAYS = 30

_SIZES = """
SELECT c.relname, pg_total_relation_size(c.oid)
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relkind IN ('r', 'm')
"""


@dataclass
class SpeakingModel:
    """Asks for one search, then says a thousand characters at reading speed, in real time if `sleep` sleeps."""

    clock: TickingClock
    provider: str = "anthropic"
    number: int = 0
    sleep: Callable[[float], None] = lambda _: None

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        """Stream the search, or the reply to its result."""
        has_result = any(block.get("type") == "tool_result" for block in content_blocks(request.messages[-1]))
        self.number += 1
        self._wait(_SECONDS_TO_FIRST_TOKEN)
        if not has_result:
            call = {"type": "tool_use", "id": f"call_{self.number}", "name": "search_knowledge"}
            yield Completion(({**call, "input": {"query": sentence(self.number)}},), "tool_use", _USAGE)
            return
        text = " ".join(sentence(-self.number * _SENTENCES - place) for place in range(_SENTENCES))
        for word in re.findall(r"\S+\s*", text):
            self._wait(_SECONDS_PER_DELTA)
            yield TextDelta(word)
        yield Completion(({"type": "text", "text": text},), "end_turn", _USAGE)

    def _wait(self, seconds: float) -> None:
        self.clock.now += timedelta(seconds=seconds)
        self.sleep(seconds)


_USAGE = TokenUsage(100, 200, 0, 0)


def main() -> None:
    parser = report.parser(__doc__ or "")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args()
    with (
        temporary_database.temporary_cluster() as cluster,
        closing(temporary_database.create_migrated_database(cluster)) as database,
    ):
        harness = open_conversation_harness(database, datetime.now(UTC) - timedelta(days=90))
        report.write(options.json, _measure(cluster, harness, options.turns))


def _measure(cluster: Cluster, harness: ConversationHarness, turns: int) -> JsonObject:
    before = _table_bytes(cluster)
    transactions = _talk(harness, turns)
    with_looks = _count_with_looks(cluster, harness)
    fresh = _per_turn(before, _table_bytes(cluster), turns)
    harness.clock.now += timedelta(days=7)
    _sweep(harness)
    rested = _per_turn(before, _table_bytes(cluster), turns)
    rebuilt, prompts = _rebuild(harness)
    harness.clock.now += timedelta(days=_LEDGER_DAYS + 31)
    _sweep(harness)
    old = _per_turn(before, _table_bytes(cluster), turns)
    shown: list[dict[str, report.Cell]] = [
        {"table": name, "at once": fresh[name], "after a week": rested[name], "after LedgerDays": old[name]}
        for name in sorted(fresh, key=lambda name: -fresh[name])
        if fresh[name] >= 1
    ]
    report.show(f"Bytes of a turn ({turns} turns of two steps, one search, streamed)", shown)
    figures: dict[str, report.Cell] = {
        "turns": turns,
        "transactions_per_streamed_turn": round(transactions / turns, 1),
        "transactions_with_looks": with_looks,
        "bytes_per_turn_at_once": sum(fresh.values()),
        "bytes_per_turn_at_rest": sum(rested.values()),
        "bytes_per_turn_after_ledger_days": sum(old.values()),
        "rebuilt": rebuilt,
        "prompts": prompts,
    }
    report.show("A turn", [figures])
    return {**figures, "tables": {"at_once": {**fresh}, "at_rest": {**rested}, "after_ledger_days": {**old}}}


def _talk(harness: ConversationHarness, turns: int) -> int:
    """Have the turns, and embed what was said. Return the number of transactions of the turns."""
    statements, transactions = harness.database.statements.by_name, 0
    harness.model = SpeakingModel(harness.clock)  # type: ignore[assignment]
    harness.embedder = Directions()
    for number in range(turns):
        if number % _TURNS_PER_CONVERSATION == 0:
            visitor = harness.create_visitor()
            session_id = harness.find_session(visitor)
        harness.clock.now += timedelta(seconds=40)
        harness.send_web(visitor, session_id, f"{sentence(10_000_000 + number)} What do you know about it?")
        before = statements.get("begin", 0)
        harness.run_turn()
        transactions += statements.get("begin", 0) - before
    spaces = EmbeddingSpaces([PricedEmbedder(Directions())])
    services = EmbeddingDependencies(
        harness.database, spaces, harness.embedding, backfill.run_backfill, Decimal(20), harness.clock
    )
    embedding_job.embed_tenant(services, harness.tenant_id, lambda: 300.0)
    return transactions


def _count_with_looks(cluster: Cluster, harness: ConversationHarness) -> int:
    """Return the transactions of one turn in real time, with those of a browser that follows it."""
    harness.model = SpeakingModel(harness.clock, sleep=time.sleep)  # type: ignore[assignment]
    visitor = harness.create_visitor()
    session_id = harness.find_session(visitor)
    harness.send_web(visitor, session_id, "What do you know about the crane?")
    parameters = cluster.connection_parameters("scratch", APP_ROLE, temporary_database.APP_PASSWORD)
    with closing(Database(connector(parameters))) as followers_database:

        async def follow() -> None:
            watch, number = FeedWatch(DatabasePool(lambda: followers_database)), 0
            while True:
                number_before, number = number, await watch.wait(visitor.tenant_id, session_id, number, 15)
                with followers_database.transaction(visitor) as tx:
                    events = event_feed.list_events(visitor, tx, session_id, number_before)
                if any(event.kind == "done" for event in events):
                    return

        follower = Thread(target=lambda: asyncio.run(follow()))
        before = harness.database.statements.by_name.get("begin", 0)
        follower.start()
        harness.run_turn()
        follower.join()
        followed = followers_database.statements.by_name["begin"]
    return harness.database.statements.by_name["begin"] - before + followed


def _sweep(harness: ConversationHarness) -> None:
    """Run the sweep until it has looked at everything that is due."""
    queues = SweepQueues(
        {"whatsapp": FakeQueue(), "web": FakeQueue()},
        FakeQueue(),
        FakeQueue(),
        FakeQueue(),
        FakeDelayedQueue(),
        FakeDelayedQueue(),
    )
    services = SweepDependencies(harness.database, finders(queues, _LEDGER_DAYS), FakeDelayedQueue(), harness.clock)
    while sweep(services, lambda: 300.0).has_more:
        pass


def _rebuild(harness: ConversationHarness) -> tuple[int, int]:
    """Return how many prompts are rebuilt byte for byte, and how many there are."""
    prompts = harness.query("SELECT turn_id, step FROM ledgers")
    identical = 0
    for turn_id, step in prompts:
        with harness.database.transaction(harness.admin) as tx:
            rebuilt = rebuild_turn_prompt(harness.admin, tx, UUID(str(turn_id)), int(str(step)))
            identical += rebuilt["is_identical"] is True
    return identical, len(prompts)


def _per_turn(before: Mapping[str, int], after: Mapping[str, int], turns: int) -> dict[str, int]:
    return {name: round((size - before.get(name, 0)) / turns) for name, size in after.items()}


def _table_bytes(cluster: Cluster) -> dict[str, int]:
    with cluster.connect_as_superuser("scratch") as owner:
        owner.execute("VACUUM FULL")
        return {str(name): int(size) for name, size in owner.execute(_SIZES).fetchall()}


if __name__ == "__main__":
    main()
