"""The API over a real database, with a tenant that came in by a pack, as tenants do."""

import io
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.api.dependencies import ApiDependencies
from parlour.infra import log
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.infra.queues import QueueMessage
from parlour.infra.secrets import SecretStatus
from parlour.jobs.dead_letters import DiscardResult, RedriveResult
from parlour.search.index.embedding_spaces import EmbeddingSpaces, PricedEmbedder
from parlour.tenancy.authentication import Authenticator
from parlour.tenancy.oidc import TrustedIssuers
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool
from tests.fake_bucket import FakeBucket

OPERATOR = "operator-" + "o" * 40
TOKEN_SECRET = "t" * 48
DONE_EVENT = ("done", {"message_id": str(UUID(int=2)), "turn_id": str(UUID(int=1)), "state": "answered"})

AGENT = """
display_name: Adviser
instructions: Answer from the documents.
model_routing: {strategy: rule, default: {provider: offline, model: offline}}
tools: [search_knowledge]
"""


def sample_pack_files(slug: str, host: str) -> dict[str, str]:
    """A small valid pack: a desk for anybody, one behind a private door, one document."""
    return {
        "tenant.yaml": f"slug: {slug}\ndisplay_name: {slug.title()}\n",
        "humans/meera.yaml": "display_name: Meera\nidentity: A site engineer.\n",
        "teams/site.yaml": "display_name: Site\nrole: Answers questions.\n",
        "agents/adviser.yaml": AGENT,
        "bindings/desk.yaml": (
            "display_name: Site desk\nhuman: meera\nteam: site\nagent: adviser\ngreeting: Good morning\n"
            f"channels: {{web: {{host: {host}, samples: ['What is due?']}}}}\n"
        ),
        "bindings/office.yaml": (
            "display_name: Office\nhuman: meera\nteam: site\nagent: adviser\ndoor: private\n"
            "owner: {phone: '+447700900001'}\n"
            f"channels: {{web: {{host: office.{host}}}}}\n"
        ),
        "documents/plan.md": "---\ntitle: Plan\n---\nThe pour is on 14 March.\n",
    }


class UnreachableIssuer:
    """No issuer is asked anything in these tests."""

    def __call__(self, url: str) -> JsonObject:
        raise AssertionError(url)


@dataclass
class ConstantEmbedder:
    """An embedder for tests in which nothing is searched."""

    model: str = "flat"
    dimensions: int = 2

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [[1.0, 0.0] for _ in texts]


@dataclass
class RecordingQueue:
    """A queue that keeps what it was given, or refuses it."""

    messages: list[QueueMessage] = field(default_factory=list)
    problem: Exception | None = None

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        if self.problem:
            raise self.problem
        self.messages.extend(messages)


@dataclass
class ManualClock:
    """A clock that tests move; with a `tick` it moves by itself at every look."""

    now: datetime
    tick: timedelta = timedelta()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> datetime:
        with self._lock:
            self.now += self.tick
            return self.now

    def advance(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@dataclass
class VisitorSession:
    """A visitor's session and how they call about it."""

    client: TestClient
    session_id: str
    token: str
    visitor_token: str = ""

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def get(self, path: str, **more: Any) -> Any:
        headers = {**self.headers, **more.pop("headers", {})}
        return self.client.get(f"/v1/sessions/{self.session_id}{path}", headers=headers, **more)

    def send(self, text: object, **body: object) -> Any:
        return self.client.post(
            f"/v1/sessions/{self.session_id}/messages", json={"text": text, **body}, headers=self.headers
        )


def operator_headers(tenant: str) -> dict[str, str]:
    """The headers of the deployment's operator, acting in that tenant."""
    return {"Authorization": f"Bearer {OPERATOR}", "Parlour-Tenant": tenant}


@pytest.fixture(autouse=True)
def logged() -> Iterator[io.StringIO]:
    """What the log wrote during the test."""
    [handler] = log._logger().handlers
    assert isinstance(handler, logging.StreamHandler)
    written = io.StringIO()
    before = handler.setStream(written)
    yield written
    handler.setStream(before)


@pytest.fixture
def clock(now: datetime) -> ManualClock:
    return ManualClock(now)


@pytest.fixture
def queue() -> RecordingQueue:
    return RecordingQueue()


@dataclass
class FakeDelayedQueue:
    """A queue of messages that come later; what was sent stays to be looked at."""

    sent: list[tuple[JsonObject, float]] = field(default_factory=list)

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self.sent.append((body, seconds))


@dataclass
class FakeDeadLetters:
    """The dead letters of a queue: only how many there are."""

    amount: int = 0
    problem: Exception | None = None
    bodies: list[JsonObject] = field(default_factory=list)

    def discard(self, is_about: Callable[[JsonObject], bool], most: int, /) -> DiscardResult:
        stay = [one for one in self.bodies[:most] if not is_about(one)]
        gone = len(self.bodies) - len(stay)
        self.bodies = stay
        return DiscardResult(gone, 0)

    def count(self) -> int:
        if self.problem:
            raise self.problem
        return self.amount

    def redrive(self, most: int, /) -> RedriveResult:
        moved = min(most, self.count())
        self.amount -= moved
        return RedriveResult(moved, self.amount)


@dataclass
class FakeEndpoint:
    """An endpoint of tools that keeps the arguments it was given, and answers or raises."""

    calls: list[JsonObject] = field(default_factory=list)
    problem: Exception | None = None

    def call(self, _context: ToolContext, _tool: Tool, arguments: JsonObject, /) -> JsonObject:
        self.calls.append(arguments)
        if self.problem:
            raise self.problem
        return {"number": "R-1"}

    def lookup(self, _context: ToolContext, _tool: Tool, /) -> JsonObject | None:
        return None


@dataclass
class FakeQueues:
    """The queues besides that of web turns, what each gave up on, and the state of secrets, providers and tools."""

    messaging: RecordingQueue = field(default_factory=RecordingQueue)
    tools: RecordingQueue = field(default_factory=RecordingQueue)
    outbox: RecordingQueue = field(default_factory=RecordingQueue)
    embedding: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    ingest: RecordingQueue = field(default_factory=RecordingQueue)
    pulse: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    wakeups: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    bucket: FakeBucket = field(default_factory=FakeBucket)
    tool_endpoint: FakeEndpoint = field(default_factory=FakeEndpoint)
    secret_statuses: dict[str, SecretStatus] = field(default_factory=dict)
    providers: dict[str, Callable[[], None]] = field(default_factory=dict)
    dead_letters: dict[str, FakeDeadLetters] = field(
        default_factory=lambda: {
            name: FakeDeadLetters() for name in ("intake", "turns-messaging", "turns-web", "tools", "outbox", "ingest")
        }
    )


@pytest.fixture
def queues() -> FakeQueues:
    return FakeQueues()


@pytest.fixture
def client(
    open_database: Callable[[], Database], clock: ManualClock, queue: RecordingQueue, queues: FakeQueues
) -> Iterator[TestClient]:
    """A client of the API. Exceptions that nothing foresaw would be raised into the test."""
    connections = DatabasePool(open_database)
    yield TestClient(create_app(make_dependencies(connections, clock, queue, queues)), follow_redirects=False)
    connections.close()


def make_dependencies(
    connections: DatabasePool, clock: ManualClock, queue: RecordingQueue, queues: FakeQueues
) -> ApiDependencies:
    """What the API is run with: a database, and queues that keep what they are given."""
    issuers = TrustedIssuers((), "parlour", UnreachableIssuer())
    return ApiDependencies(
        databases=connections,
        authenticator=Authenticator(issuers, lambda: TOKEN_SECRET, lambda: OPERATOR),
        turns_web_queue=queue,
        turns_messaging_queue=queues.messaging,
        tools_queue=queues.tools,
        outbox_queue=queues.outbox,
        embedder_queue=queues.embedding,
        ingest_queue=queues.ingest,
        wakeup_queue=queues.wakeups,
        pulse_queue=queues.pulse,
        upload_bucket=queues.bucket,
        media_bucket=queues.bucket,
        dead_letters=queues.dead_letters,
        token_secret=lambda: TOKEN_SECRET,
        default_daily_cap=Decimal(20),
        default_pulse_cap=Decimal(2),
        embedding_spaces=EmbeddingSpaces(
            [PricedEmbedder(ConstantEmbedder()), PricedEmbedder(ConstantEmbedder("other", 2))]
        ),
        clock=clock,
        locate_secret=lambda reference: reference.replace("parlour/", "parlour/test/", 1),
        find_secret_status=lambda reference: queues.secret_statuses.get(reference, "missing"),
        providers=queues.providers,
        environment="test",
        tool_endpoints={"https": queues.tool_endpoint},
    )


@pytest.fixture
def acme(client: TestClient) -> str:
    """A tenant whose web desk is at acme.example."""
    return create_tenant(client, "acme")


@pytest.fixture
def brick(client: TestClient) -> str:
    """The other tenant."""
    return create_tenant(client, "brick")


def create_tenant(client: TestClient, slug: str) -> str:
    answer = client.put(
        "/v1/pack", json={"files": sample_pack_files(slug, f"{slug}.example")}, headers=operator_headers(slug)
    )
    assert answer.status_code == 200, answer.text
    return slug


@pytest.fixture
def visit(client: TestClient, acme: str) -> VisitorSession:
    """A visitor of acme's desk."""
    return open_session(client, acme)


def open_session(client: TestClient, tenant: str, **headers: str) -> VisitorSession:
    answer = client.post("/v1/sessions", json={"tenant": tenant, "binding": "desk"}, headers=headers)
    assert answer.status_code == 201, answer.text
    opened = answer.json()
    return VisitorSession(client, opened["session_id"], opened["token"], opened["visitor_token"] or "")


def create_key_headers(client: TestClient, tenant: str, *roles: str) -> dict[str, str]:
    """The headers of a new API key with those roles."""
    answer = client.post("/v1/keys", json={"name": "test", "roles": roles}, headers=operator_headers(tenant))
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['key']}"}


_TURN = """
INSERT INTO turns (tenant_id, id, session_id, binding_id, number, state, frozen_at, stage_ms)
SELECT current_tenant(), %(id)s, s.id, s.binding_id, %(number)s, 'answered', %(now)s, '{"model": 12}'
  FROM sessions s WHERE s.id = %(session_id)s
"""
_EVENT = """
INSERT INTO events (tenant_id, session_id, number, turn_id, kind, payload, at)
VALUES (current_tenant(), %(session_id)s, %(number)s, %(turn_id)s, %(kind)s, %(payload)s, %(now)s)
"""
_NEWEST = "UPDATE sessions SET last_event_number = %(number)s WHERE id = %(session_id)s"


@dataclass
class EventFeed:
    """Writes turns and their events as the orchestrator would."""

    database: Database
    tenant_id: UUID
    session_id: UUID
    now: datetime
    number: int = 0
    turns: int = 0

    def add_turn(self, *events: tuple[str, Mapping[str, object]]) -> UUID:
        """One turn of the session with these events."""
        self.turns += 1
        turn_id = uuid7(self.now)
        with self.database.transaction(self.tenant_id) as tx:
            where = {"session_id": self.session_id, "now": self.now}
            tx.run(Query("test.turn", "-", _TURN), id=turn_id, number=self.turns, **where)
            for kind, payload in events:
                self.number += 1
                about = {"number": self.number, "turn_id": turn_id, "kind": kind, "payload": dict(payload)}
                tx.run(Query("test.event", "-", _EVENT), **about, **where)
            tx.run(Query("test.newest", "-", _NEWEST), number=self.number, session_id=self.session_id)
        return turn_id


@pytest.fixture
def feed(visit: VisitorSession, database: Database, now: datetime, acme: str) -> EventFeed:
    """The feed of the visitor's session."""
    with database.transaction(None) as tx:
        tenant_id = tx.value(
            Query("test.t", "-", "SELECT tenant_id FROM routing_keys WHERE key = %(key)s"), key=f"tenant:{acme}"
        )
    return EventFeed(database, tenant_id, UUID(visit.session_id), now)
