"""A tenant with the example pack, a scripted model, and the turns of its sessions: what tests of whole rooms use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID

from parlour.channels.envelope import Envelope
from parlour.channels.read_receipts import ReadReceiptSenders
from parlour.conversations.handoff_rules import HAND_OFF
from parlour.conversations.handoffs import hand_off
from parlour.conversations.inbound_messages import SessionWakeup, WebMessage, receive_envelope, receive_web_message
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database
from parlour.models.model import Completion, TokenUsage
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.search.index.embedders import Embedder
from parlour.tenancy import bindings, roles, users
from parlour.testing.doubles import FakeDelayedQueue, FakeQueue, ScriptedAnswer, ScriptedModel, WordEmbedder
from parlour.tools.builtin import builtin_tools
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.run import BuiltinTool, Endpoint

__all__ = ["FakeDelayedQueue", "FakeQueue", "ScriptedAnswer", "ScriptedModel", "WordEmbedder"]

PHONE = "+919800000001"


def text_answer(text: str) -> list[JsonObject]:
    return [{"type": "text", "text": text}]


def cut_answer(text: str) -> Completion:
    """The model says more than its limit of tokens allows."""
    return Completion(tuple(text_answer(text)), "max_tokens", TokenUsage(100, 1_500))


def search_call(query: str, call: str = "call_1") -> list[JsonObject]:
    return [{"type": "tool_use", "id": call, "name": "search_knowledge", "input": {"query": query}}]


def tool_call(tool: str, call: str = "call_1", /, **arguments: Json) -> list[JsonObject]:
    """The model asks for a tool."""
    return [{"type": "tool_use", "id": call, "name": tool, "input": {**arguments}}]


_TOOL_COLUMNS = ("schema", "endpoint", "writes", "idempotent", "heavy", "lookup", "timeout_seconds")
"""What a test's tool may say otherwise than the example's tool of the same name."""


class TickingClock:
    """Time that passes a millisecond at every look."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now


@dataclass
class ConversationHarness:
    """The example's site desk, and the means to write to it and to run its turns."""

    tenant_id: UUID
    database: Database
    clock: TickingClock
    turns: FakeQueue = field(default_factory=FakeQueue)
    outbox: FakeQueue = field(default_factory=FakeQueue)
    tools: FakeQueue = field(default_factory=FakeQueue)
    ingest: FakeQueue = field(default_factory=FakeQueue)
    embedding: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    memory: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    wakeups: FakeDelayedQueue = field(default_factory=FakeDelayedQueue)
    max_tenant_turns: int = 20
    builtins: dict[str, BuiltinTool] = field(default_factory=dict)
    model: ScriptedModel = field(default_factory=ScriptedModel)
    embedder: Embedder = field(default_factory=WordEmbedder)
    owner: Callable[[str], object] | None = None
    turn_queues: dict[str, FakeQueue] = field(init=False)
    read_receipts: ReadReceiptSenders = field(default_factory=dict)
    extra_endpoints: dict[str, Endpoint] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.turn_queues = {"whatsapp": self.turns, "web": self.turns}

    @property
    def admin(self) -> Principal:
        return roles.operator_principal(self.tenant_id)

    def make_dependencies(self, database: Database | None = None) -> TurnDependencies:
        return TurnDependencies(
            database=database or self.database,
            models={"anthropic": self.model},
            endpoints={
                "python": PythonEndpoint(
                    {**self._builtin_tools(), HAND_OFF: hand_off, **self.builtins}, builtin_tools.BUILTIN_LOOKUPS
                ),
                **self.extra_endpoints,
            },
            outbox_queue=self.outbox,
            tool_queue=self.tools,
            embedding_queue=self.embedding,
            memory_queue=self.memory,
            wakeup_queue=self.wakeups,
            max_tenant_turns=self.max_tenant_turns,
            embedder_of=lambda _database, _tenant: self.embedder,
            default_cap_usd=Decimal(20),
            clock=self.clock,
            sleep=lambda _: None,
            jitter=lambda low, _: low,
            read_receipts=self.read_receipts,
        )

    def _builtin_tools(self) -> dict[str, BuiltinTool]:
        """Parlour's own, as every deployment has them."""
        return builtin_tools.builtin_handlers(lambda database, tenant_id: WordEmbedder(), self.embedding)

    def send_whatsapp(self, text: str, provider_id: str = "m1", **changes: object) -> str:
        fields: dict[str, object] = {
            "channel": "whatsapp",
            "provider": "gupshup",
            "to": "gupshup:ParlourDemo",
            "sender": PHONE,
            "provider_message_id": provider_id,
            "kind": "text",
            "text": text,
            "media": None,
            "status": "",
            "sent_at": self.clock(),
            "metadata": {"sender_name": "Priya"},
        }
        envelope = Envelope(**{**fields, **changes})  # type: ignore[arg-type]
        return receive_envelope(self.database, self.turn_queues, self.wakeups, envelope, self.clock())

    def run_as_owner(self, statement: str) -> None:
        """Change the schema of this test's database."""
        if self.owner is None:
            raise RuntimeError("this harness has no owner's connection")
        self.owner(statement)

    def let_everybody_write(self) -> None:
        """Most tests are not about rights."""
        self.query("""UPDATE bindings SET writes = '{"anonymous": "all", "verified": "all"}' RETURNING id""")

    def let_agents_answer_alone(self) -> None:
        """Most tests are not about people who answer."""
        self.query("UPDATE bindings SET inbox = '{}', notifications = '{}' RETURNING id")

    def create_visitor(self) -> Principal:
        """A new visitor on the web; their session is `session_of(visitor)`."""
        with self.database.transaction(self.tenant_id) as tx:
            binding = bindings.find_binding_by_slug(tx, "site-desk")
            assert binding is not None
            contact = users.create_visitor(tx, binding_id=binding.id, now=self.clock())
            return users.load_user_principal(tx, contact.user_id, binding.id)

    def find_session(self, principal: Principal) -> UUID:
        """The user's newest session."""
        whose = f"user_id = '{principal.id}'"
        found = self.query(f"SELECT id FROM sessions WHERE {whose} ORDER BY last_active_at DESC, id DESC")
        assert isinstance(found[0][0], UUID)
        return found[0][0]

    def send_web(self, visitor: Principal, session_id: UUID, text: str, client_id: str | None = None) -> UUID:
        return receive_web_message(
            visitor, self.database, self.turns, self.wakeups, WebMessage(session_id, text, client_id), self.clock()
        )

    def list_wakes(self) -> list[SessionWakeup]:
        return [SessionWakeup.parse(message.body) for message in self.turns.sent.values()]

    def run_turn(self, wake: SessionWakeup | None = None, database: Database | None = None) -> None:
        run_session(self.make_dependencies(database), wake or self.list_wakes()[-1], lambda: 60.0)

    def add_tool(self, name: str, builtin: BuiltinTool, **flags: bool | str) -> None:
        """Give the site's adviser a tool that is a function of the test's; flags are columns of `tools`.

        One of the example's own tools of that name is replaced.
        """
        self.builtins[name] = builtin
        columns = {"writes": True, **flags}
        self.query(
            f"INSERT INTO tools (tenant_id, id, name, description, schema, endpoint, created_at, updated_at, "
            f"{', '.join(columns)}) VALUES (current_tenant(), '{uuid7(self.clock())}', '{name}', 'does it', "
            f"""'{{"type": "object"}}', 'python:{name}', now(), now(), """
            f"{', '.join(repr(value) for value in columns.values())}) ON CONFLICT (tenant_id, name) DO UPDATE SET "
            f"{', '.join(f'{column} = excluded.{column}' for column in _TOOL_COLUMNS)} RETURNING id"
        )
        self.query(f"UPDATE agents SET tools = array_append(tools, '{name}') WHERE slug = 'site-adviser' RETURNING id")

    def query(self, statement: str) -> list[tuple[object, ...]]:
        """What the tenant's tables hold, read as the app role."""
        with self.database.transaction(self.tenant_id) as tx:
            return tx._connection.execute(statement.encode()).fetchall()


def open_conversation_harness(database: Database, now: datetime) -> ConversationHarness:
    """The example pack, applied to a new tenant.

    Most tests are not about rights, so everybody may change everything: `test_write_rights` is about them. Nor are they
    about people who answer, so no failure brings a conversation to the inbox: tests/integration/inbox is about that.
    """
    tenant_id = uuid7(now)
    pack = validate(folder.read_folder(Path("packs/construction")))
    apply(roles.operator_principal(tenant_id), database, WordEmbedder(), pack, now)
    harness = ConversationHarness(tenant_id, database, TickingClock(now))
    harness.let_everybody_write()
    harness.let_agents_answer_alone()
    return harness
