"""What a flood at one tenant does to the others, to its budget, and to what was accepted.

    python -m bench.flood [--json FILE]

Three tenants share four workers and one database. A scripted model takes 50 ms per answer. First every tenant gets a
message every 200 ms, then the same while the first one is flooded: by one visitor, and by 1,000 visitors. Web visitors
pass the limits as at the API: a message above them is refused and not counted as accepted.

    others_p95_ratio   the other tenants' 95th percentile from message to reply, flooded against calm (aim: <= 1.5)
    spent_share        what anonymous visitors spent of the flooded tenant's daily cap (aim: <= 0.2)
    accepted_answered  accepted messages that were answered in the end (aim: 1.0)
"""

import heapq
import itertools
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch
from uuid import UUID

from bench import report
from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD, temporary_cluster
from parlour.conversations.inbound_messages import SessionWakeup, WebMessage, receive_web_message
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.infra import log
from parlour.infra.errors import LeaseHeld, RateLimited
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, connector
from parlour.infra.queries import Query
from parlour.infra.queues import QueueMessage
from parlour.jobs.work_due import DueWork
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import bindings, rate_limits, roles, users
from parlour.tenancy.limits import DEFAULT_LIMITS, message_limits, visitor_limits
from tests.conversation_harness import FakeDelayedQueue, FakeQueue, WordEmbedder

WORKERS = 4
MODEL_SECONDS = 0.05
CALM_MESSAGES = 60
INTERVAL_SECONDS = 0.2
DAILY_CAP_USD = Decimal(10)
MAX_TENANT_TURNS = 2
PACK = Path("packs/construction")


class SlowModel:
    """Answers every question after a while, at the price of a long prompt."""

    provider = "anthropic"

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        del request, seconds_left
        time.sleep(MODEL_SECONDS)
        yield TextDelta("Noted.")
        yield Completion(({"type": "text", "text": "Noted."},), "end_turn", TokenUsage(4_000, 20, 0, 0))


@dataclass
class TurnQueue:
    """A FIFO queue as SQS has it: one message of a group at a time, groups in order of arrival."""

    waiting: deque[SessionWakeup] = field(default_factory=deque)
    later: list[tuple[float, int, SessionWakeup]] = field(default_factory=list)
    busy: set[UUID] = field(default_factory=set)
    lock: threading.Condition = field(default_factory=threading.Condition)
    _count: Iterator[int] = field(default_factory=itertools.count)

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        with self.lock:
            self.waiting.extend(SessionWakeup.parse(message.body) for message in messages)
            self.lock.notify_all()

    def send_later(self, body: JsonObject, seconds: float) -> None:
        work = DueWork.from_json(body)
        with self.lock:
            due = time.monotonic() + seconds
            heapq.heappush(self.later, (due, next(self._count), SessionWakeup(work.tenant_id, work.id)))

    def take(self) -> SessionWakeup | None:
        """Return the next wake-up whose session nobody is at; None when there is none for a moment."""
        with self.lock:
            while self.later and self.later[0][0] <= time.monotonic():
                self.waiting.append(heapq.heappop(self.later)[2])
            for place, wakeup in enumerate(self.waiting):
                if wakeup.session_id not in self.busy:
                    del self.waiting[place]
                    self.busy.add(wakeup.session_id)
                    return wakeup
            self.lock.wait(0.02)
            return None

    def done(self, wakeup: SessionWakeup) -> None:
        with self.lock:
            self.busy.discard(wakeup.session_id)

    @property
    def is_empty(self) -> bool:
        with self.lock:
            return not (self.waiting or self.later or self.busy)


class DelayedTurns(FakeDelayedQueue):
    """Wake-ups that come later, for the queue of turns."""

    def __init__(self, turns: TurnQueue) -> None:
        super().__init__()
        self._turns = turns

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self._turns.send_later(body, seconds)


@dataclass
class Deployment:
    """Three tenants, their workers and the messages that were accepted."""

    connect: Callable[[], Database]
    tenants: list[UUID]
    turns: TurnQueue = field(default_factory=TurnQueue)
    stopped: threading.Event = field(default_factory=threading.Event)

    def dependencies(self, database: Database) -> TurnDependencies:
        return TurnDependencies(
            database=database,
            models={"anthropic": SlowModel()},
            endpoints={},
            outbox_queue=FakeQueue(),
            tool_queue=FakeQueue(),
            embedding_queue=FakeDelayedQueue(),
            memory_queue=FakeDelayedQueue(),
            wakeup_queue=DelayedTurns(self.turns),
            max_tenant_turns=MAX_TENANT_TURNS,
            embedder_of=lambda _database, _tenant: WordEmbedder(),
            default_cap_usd=DAILY_CAP_USD,
            clock=lambda: datetime.now(UTC),
            sleep=time.sleep,
            jitter=random.uniform,
        )

    def work(self) -> None:
        """One worker, until it is stopped."""
        with closing(self.connect()) as database:
            services = self.dependencies(database)
            while not self.stopped.is_set():
                if (wakeup := self.turns.take()) is None:
                    continue
                try:
                    run_session(services, wakeup, lambda: 60.0)
                except LeaseHeld:
                    self.turns.send_later(
                        DueWork(wakeup.tenant_id, "session", wakeup.session_id, datetime.now(UTC)).to_json(), 0.1
                    )
                finally:
                    self.turns.done(wakeup)


@dataclass
class Sender:
    """Somebody who opens sessions at a tenant and writes, within the limits of its site desk."""

    deployment: Deployment
    database: Database
    tenant_id: UUID
    accepted: int = 0
    refused: int = 0

    def open_session(self) -> tuple[Principal, UUID, UUID] | None:
        """Return a new visitor with their session and binding; None when too many come."""
        now = datetime.now(UTC)
        with self.database.transaction(self.tenant_id) as tx:
            binding = bindings.find_binding_by_slug(tx, "site-desk")
            if binding is None:
                raise LookupError("the site desk is missing")
        reader = Principal(self.tenant_id, "user")
        try:
            wanted = visitor_limits(DEFAULT_LIMITS, binding.id, f"address {uuid7(now)}")
            rate_limits.require_tokens(self.database, reader, wanted, now)
        except RateLimited:
            self.refused += 1
            return None
        with self.database.transaction(self.tenant_id) as tx:
            contact = users.create_visitor(tx, binding_id=binding.id, now=now)
            return users.load_user_principal(tx, contact.user_id, binding.id), contact.session_id, binding.id

    def write(self, visitor: Principal, session_id: UUID, binding_id: UUID) -> None:
        now = datetime.now(UTC)
        limits = message_limits(DEFAULT_LIMITS, visitor.id or session_id, binding_id, f"address of {visitor.id}")
        try:
            rate_limits.require_tokens(self.database, visitor, limits, now)
        except RateLimited:
            self.refused += 1
            return
        text = WebMessage(session_id, "How wide is the crack at C4?", str(uuid7(now)))
        receive_web_message(visitor, self.database, self.deployment.turns, FakeDelayedQueue(), text, now)
        self.accepted += 1


def main() -> None:
    file = report.json_file(__doc__ or "")
    logging.disable(logging.CRITICAL)
    with patch.object(log, "count"), temporary_cluster() as cluster:
        rows = [run(cluster, flooders) for flooders in (0, 1, 1_000)]
    calm = rows[0]["others p95 s"]
    for row in rows:
        row["others_p95_ratio"] = float(row["others p95 s"]) / float(calm)
    report.show("A flood at one tenant of three", rows)
    figures = {
        "others_p95_ratio": max(float(row["others_p95_ratio"]) for row in rows[1:]),
        "spent_share": max(float(row["spent_share"]) for row in rows),
        "accepted_answered": min(float(row["accepted_answered"]) for row in rows),
    }
    report.write(file, {**figures, "rows": rows})


def run(cluster: Cluster, flooders: int) -> dict[str, report.Cell]:
    """Three tenants with calm traffic, the first of them flooded by that many visitors."""
    name = f"flood_{flooders}"
    cluster.create(name)
    cluster.migrate(name, datetime.now(UTC), APP_PASSWORD)

    def connect() -> Database:
        return Database(connector(cluster.connection_parameters(name, APP_ROLE, APP_PASSWORD)))

    with closing(connect()) as database:
        deployment = Deployment(connect, [found_tenant(database, number) for number in range(3)])
        senders = [Sender(deployment, database, tenant) for tenant in deployment.tenants]
        workers = [threading.Thread(target=deployment.work) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        send_traffic(deployment, senders, flooders)
        while not deployment.turns.is_empty:
            time.sleep(0.1)
        deployment.stopped.set()
        for worker in workers:
            worker.join()
        return measure(database, deployment, senders, flooders)


def found_tenant(database: Database, number: int) -> UUID:
    """The example pack under another name."""
    now = datetime.now(UTC)
    tenant_id = uuid7(now)
    files = folder.read_folder(PACK)
    numbers = {"ParlourDemo": f"Demo{number}", "104729350000142": f"10472935000014{number}"}
    renames = {"northbank": f"tenant{number}", **numbers}
    for old, new in renames.items():
        files = {path: text.replace(old, new) for path, text in files.items()}
    apply(roles.operator_principal(tenant_id), database, WordEmbedder(), validate(files), now)
    return tenant_id


def send_traffic(deployment: Deployment, senders: Sequence[Sender], flooders: int) -> None:
    """Calm traffic at every tenant, and beside it, from a thread of its own, the flood at the first."""

    def flood() -> None:
        with closing(deployment.connect()) as database:
            sender = Sender(deployment, database, deployment.tenants[0])
            opened = [sender.open_session() for _ in range(flooders)]
            for _ in range(1_000 // flooders):
                for visitor in filter(None, opened):
                    sender.write(*visitor)
            senders[0].accepted += sender.accepted
            senders[0].refused += sender.refused

    flooding = threading.Thread(target=flood if flooders else lambda: None)
    flooding.start()
    for _ in range(CALM_MESSAGES):
        for sender in senders:
            if visitor := sender.open_session():
                sender.write(*visitor)
        time.sleep(INTERVAL_SECONDS)
    flooding.join()


def measure(
    database: Database, deployment: Deployment, senders: Sequence[Sender], flooders: int
) -> dict[str, report.Cell]:
    """Read from the database what became of the messages."""
    waits: list[float] = []
    answered = 0
    spent = Decimal(0)
    for place, tenant in enumerate(deployment.tenants):
        with database.transaction(tenant) as tx:
            rows = tx.all(_WAITS, _Wait)
            answered += len(rows)
            waits += [row.seconds for row in rows if place]
            spent = max(spent, Decimal(str(tx.value(_SPENT) or 0))) if not place else spent
    accepted = sum(sender.accepted for sender in senders)
    return {
        "flood": {0: "none", 1: "one visitor"}.get(flooders, f"{flooders} visitors"),
        "accepted": accepted,
        "refused": sum(sender.refused for sender in senders),
        "others p95 s": report.percentile(waits, 95),
        "spent_share": float(spent / DAILY_CAP_USD),
        "accepted_answered": answered / accepted,
    }


@dataclass(frozen=True, slots=True)
class _Wait:
    seconds: float


_WAITS = Query(
    "flood.waits",
    "-",
    """
    SELECT extract(epoch FROM t.finished_at - m.received_at)::float8 AS seconds
      FROM messages m JOIN turns t ON t.id = m.turn_id
     WHERE m.direction = 'inbound' AND t.state = 'answered'
    """,
)
_SPENT = Query("flood.spent", "-", "SELECT sum(anonymous_usd) FROM spend_days")


if __name__ == "__main__":
    main()
