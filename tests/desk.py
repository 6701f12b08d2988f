"""A tenant with the example pack, a scripted model, and the turns of its sessions: what tests of whole rooms use."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from parlour.channels.envelope import Envelope
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Database
from parlour.infra.queues import QueueMessage
from parlour.knowledge.index.embed import Embedder
from parlour.knowledge.tools import kit
from parlour.models.request import Completed, ModelRequest, Part, TextDelta, Usage
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import bindings, people, roles
from parlour.tools.endpoints import PythonEndpoint
from parlour.tools.run import Builtin
from parlour.turns.receive import Wake, receive, receive_web
from parlour.turns.run import run
from parlour.turns.running import Services

PHONE = "+919800000001"


class WordEmbedder:
    """A vector per text from the hashes of its words: texts with common words are near each other."""

    model = "words"
    dimensions = 64

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.001] * self.dimensions
        for word in text.lower().split():
            vector[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % self.dimensions] += 1.0
        return vector


class Queue:
    """Keeps what was sent, once per de-duplication id, like the real one within its five minutes."""

    def __init__(self) -> None:
        self.sent: dict[str, QueueMessage] = {}
        self.broken: Exception | None = None

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        if self.broken:
            raise self.broken
        for message in messages:
            self.sent.setdefault(message.deduplication, message)


@dataclass
class Delayed:
    """Keeps what is to come later, and in how many seconds."""

    sent: list[tuple[JsonObject, float]] = field(default_factory=list)
    broken: Exception | None = None

    def send(self, body: JsonObject, seconds: float, /) -> None:
        if self.broken:
            raise self.broken
        self.sent.append((body, seconds))


type Scripted = Sequence[JsonObject] | Exception


class ScriptedModel:
    """Answers with what the test put in: content blocks, or an error."""

    provider = "anthropic"

    def __init__(self) -> None:
        self.script: list[Scripted] = []
        self.requests: list[ModelRequest] = []
        self.during: Callable[[], None] = lambda: None

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[Part]:
        self.requests.append(request)
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        for block in answer:
            if block["type"] == "text":
                yield TextDelta(str(block["text"]))
        self.during()
        wants_tools = any(block["type"] == "tool_use" for block in answer)
        yield Completed(tuple(answer), "tool_use" if wants_tools else "end_turn", Usage(100, 20, 0, 0))


def says(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}]


def searches(query: str, call: str = "call_1") -> list[JsonObject]:
    return [{"type": "tool_use", "id": call, "name": "search_knowledge", "input": {"query": query}}]


def calls(tool: str, call: str = "call_1", /, **arguments: Json) -> list[JsonObject]:
    """The model asks for a tool."""
    return [{"type": "tool_use", "id": call, "name": tool, "input": {**arguments}}]


_FLAGS = ("schema", "endpoint", "writes", "idempotent", "heavy", "lookup", "timeout_seconds")
"""What a test's tool may say otherwise than the example's tool of the same name."""


class Clock:
    """Time that passes a millisecond at every look."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@dataclass
class Desk:
    """The example's site desk, and the means to write to it and to run its turns."""

    tenant_id: UUID
    database: Database
    clock: Clock
    turns: Queue = field(default_factory=Queue)
    outbox: Queue = field(default_factory=Queue)
    tools: Queue = field(default_factory=Queue)
    ingest: Queue = field(default_factory=Queue)
    embedding: Delayed = field(default_factory=Delayed)
    memory: Delayed = field(default_factory=Delayed)
    builtins: dict[str, Builtin] = field(default_factory=dict)
    model: ScriptedModel = field(default_factory=ScriptedModel)
    embedder: Embedder = field(default_factory=WordEmbedder)

    @property
    def admin(self) -> Principal:
        return roles.operator(self.tenant_id)

    def services(self, database: Database | None = None) -> Services:
        return Services(
            database=database or self.database,
            models={"anthropic": self.model},
            endpoints={"python": PythonEndpoint({**self._own_tools(), **self.builtins}, kit.LOOKUPS)},
            outbox=self.outbox,
            tools=self.tools,
            embedding=self.embedding,
            memory=self.memory,
            embedder=lambda _database, _tenant: self.embedder,
            default_cap=Decimal(20),
            clock=self.clock,
            new_id=uuid7,
            sleep=lambda _: None,
            jitter=lambda low, _: low,
        )

    def _own_tools(self) -> dict[str, Builtin]:
        """Parlour's own, as every deployment has them."""
        return kit.builtins(lambda database, tenant_id: WordEmbedder(), self.embedding)

    def write(self, text: str, provider_id: str = "m1", **changes: object) -> str:
        fields: dict[str, object] = {
            "channel": "whatsapp", "provider": "gupshup", "to": "gupshup:ParlourDemo", "sender": PHONE,
            "provider_message_id": provider_id, "kind": "text", "text": text, "media": None, "status": "",
            "sent_at": self.clock(), "metadata": {"sender_name": "Priya"},
        }  # fmt: skip
        envelope = Envelope(**{**fields, **changes})  # type: ignore[arg-type]
        return receive(self.database, self.turns, envelope, self.clock(), uuid7)

    def visit(self) -> Principal:
        """A new visitor on the web; their session is `session_of(visitor)`."""
        with self.database.transaction(self.tenant_id) as tx:
            binding = bindings.by_slug(tx, "site-desk")
            assert binding is not None
            contact = people.open_visitor(tx, binding_id=binding.id, now=self.clock(), new_id=uuid7)
            return people.principal_of(tx, contact.user_id, binding.id)

    def session_of(self, principal: Principal) -> UUID:
        """The user's newest session."""
        whose = f"user_id = '{principal.id}'"
        found = self.rows(f"SELECT id FROM sessions WHERE {whose} ORDER BY last_active_at DESC, id DESC")
        assert isinstance(found[0][0], UUID)
        return found[0][0]

    def write_web(self, visitor: Principal, session_id: UUID, text: str, client_id: str | None = None) -> UUID:
        return receive_web(
            visitor, self.database, self.turns, session_id, text, client_id, self.clock(), uuid7
        )  # fmt: skip

    def wakes(self) -> list[Wake]:
        return [Wake.from_json(message.body) for message in self.turns.sent.values()]

    def run(self, wake: Wake | None = None, database: Database | None = None) -> None:
        run(self.services(database), wake or self.wakes()[-1], lambda: 60.0)

    def add_tool(self, name: str, builtin: Builtin, **flags: bool | str) -> None:
        """Give the site's adviser a tool that is a function of the test's; flags are columns of `tools`.

        One of the example's own tools of that name is replaced.
        """
        self.builtins[name] = builtin
        columns = {"writes": True, **flags}
        self.rows(
            f"INSERT INTO tools (tenant_id, id, name, description, schema, endpoint, created_at, updated_at, "
            f"{', '.join(columns)}) VALUES (current_tenant(), '{uuid7(self.clock())}', '{name}', 'does it', "
            f"""'{{"type": "object"}}', 'python:{name}', now(), now(), """
            f"{', '.join(repr(value) for value in columns.values())}) ON CONFLICT (tenant_id, name) DO UPDATE SET "
            f"{', '.join(f'{column} = excluded.{column}' for column in _FLAGS)} RETURNING id"
        )
        self.rows(f"UPDATE agents SET tools = array_append(tools, '{name}') WHERE slug = 'site-adviser' RETURNING id")

    def rows(self, statement: str) -> list[tuple[object, ...]]:
        """What the tenant's tables hold, read as the app role."""
        with self.database.transaction(self.tenant_id) as tx:
            return tx._connection.execute(statement.encode()).fetchall()


def open_desk(database: Database, now: datetime) -> Desk:
    """The example pack, applied to a new tenant."""
    tenant_id = uuid7(now)
    pack = validate(folder.read(Path("packs/construction")))
    apply(roles.operator(tenant_id), database, WordEmbedder(), pack, now, uuid7)
    return Desk(tenant_id, database, Clock(now))
