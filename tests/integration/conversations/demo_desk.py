"""The example pack with real embeddings, answered by its demo: what the tests of scenes talk to."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from uuid import UUID

from local.embeddings import MiniLmEmbedder
from parlour.conversations.turn_runner import run_session
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.models.demo import DemoModel
from parlour.models.demo_scenes import scenes_from_settings
from parlour.models.model import Model
from parlour.models.offline import OfflineModel
from parlour.models.simulated_cache import SimulatedCache
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import bindings, roles, tenants, users
from parlour.tools.builtin import builtin_tools
from tests.approval_harness import ApprovalHarness
from tests.conversation_harness import ConversationHarness, TickingClock


class DemoDesk:
    """A tenant with the example pack, whose agents have no real model."""

    def __init__(self, database: Database, embedder: MiniLmEmbedder, now: datetime) -> None:
        tenant_id = uuid7(now)
        pack = validate(folder.read_folder(Path("packs/construction")))
        apply(roles.operator_principal(tenant_id), database, embedder, pack, now)
        self.harness = ConversationHarness(tenant_id, database, TickingClock(now), embedder=embedder)
        self.harness.builtins = builtin_tools.builtin_handlers(lambda *_: embedder, self.harness.embedding)
        with database.transaction(tenant_id) as tx:
            tenant = tenants.find_own_tenant(tx)
        assert tenant is not None
        cache = SimulatedCache(self._seconds)
        self.pauses: list[float] = []
        demo = DemoModel(scenes_from_settings(tenant.settings), cache, self.pauses.append)
        self.models: dict[str, Model] = {"offline": OfflineModel(), "demo": demo}

    def _seconds(self) -> float:
        return self.harness.clock.now.timestamp()

    def visit(self, binding: str = "site-desk") -> Callable[[str], str]:
        """Open a visitor's session; return what asks a question in it and returns the reply."""
        visitor, session_id = self.open_session(binding)
        return lambda text: self.ask(visitor, session_id, text)

    def open_session(self, binding: str) -> tuple[Principal, UUID]:
        harness = self.harness
        with harness.database.transaction(harness.tenant_id) as tx:
            found = bindings.find_binding_by_slug(tx, binding)
            assert found is not None
            contact = users.create_visitor(tx, binding_id=found.id, now=harness.clock())
            visitor = users.load_user_principal(tx, contact.user_id, found.id)
        return visitor, harness.find_session(visitor)

    def open_further_session(self, visitor: Principal, binding: str) -> UUID:
        with self.harness.database.transaction(visitor) as tx:
            found = bindings.find_binding_by_slug(tx, binding)
            assert found is not None
            return users.open_session(visitor, tx, binding_id=found.id, now=self.harness.clock()).id

    def let_visitors_write(self) -> None:
        self.harness.let_everybody_write()

    def ask(self, visitor: Principal, session_id: UUID, text: str) -> str:
        self.harness.send_web(visitor, session_id, text)
        self.run_turn()
        return self.last_reply(session_id)

    def run_turn(self) -> None:
        dependencies = replace(self.harness.make_dependencies(), models=self.models)
        run_session(dependencies, self.harness.list_wakes()[-1], lambda: 60.0)

    def last_reply(self, session_id: UUID) -> str:
        rows = self.harness.query(
            f"SELECT body FROM messages WHERE session_id = '{session_id}' AND direction = 'outbound' ORDER BY id DESC"
        )
        return str(rows[0][0])

    def run_approved(self, ask: Callable[[str], str], answer: str) -> str:
        """Answer the open question; return the reply to the outcome of the call that ran then."""
        approval = ApprovalHarness(self.harness).latest()
        ask(answer)
        ApprovalHarness(self.harness).dispatch(approval)
        self.run_turn()
        return self.last_reply(approval.session_id)

    def add_office(self, **answers: JsonObject | Exception) -> None:
        """Let the site office's tools answer."""
        for name, answer in answers.items():
            self.harness.add_tool(name, lambda *_, answer=answer: _answer(answer), writes=name != "compile_report")


def _answer(answer: JsonObject | Exception) -> JsonObject:
    if isinstance(answer, Exception):
        raise answer
    return answer
