"""A tenant with the code-first example: its functions run under AWS's own runtime client, its turns in the test."""

import json
import shutil
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from local.lambda_runtime import FunctionCode, HandlerFailed, Sandbox
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.infra.functions import FunctionFailed
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.models.function_model import FunctionModel
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.function_deployment import code_files
from parlour.packs.validate import validate
from parlour.tenancy import bindings, roles, users
from parlour.tools.function_endpoint import FunctionEndpoint
from tests.conftest import NOW
from tests.conversation_harness import ConversationHarness, TickingClock, WordEmbedder

EXAMPLE = Path("examples/code-first")
_LAYERS = (Path("shared").resolve(), Path(sysconfig.get_path("purelib")))


@dataclass
class SandboxFunctions:
    """The tenant's function: an environment that ends is replaced at the next call, as in Lambda."""

    code: Path
    environment: dict[str, str]
    layers: tuple[Path, ...] = _LAYERS
    events: list[JsonObject] = field(default_factory=list)
    _sandbox: Sandbox | None = None

    def invoke(self, tenant: str, event: JsonObject, seconds: float, /) -> Any:
        assert tenant == "salon"
        self.events.append(event)
        if self._sandbox is None:
            for name, content in code_files(self.code).items():
                (self.code / name).write_bytes(content)
            self._sandbox = Sandbox(FunctionCode(self.code, self.layers), self.environment).__enter__()
        try:
            return self._sandbox.invoke(event, seconds)
        except HandlerFailed as error:
            self.close()
            raise FunctionFailed(tenant, error.message) from error

    def close(self) -> None:
        if self._sandbox is not None:
            self._sandbox.__exit__(None, None, None)
            self._sandbox = None


@dataclass
class FunctionDesk:
    """A conversation with one of the example's bindings."""

    harness: ConversationHarness
    functions: SandboxFunctions
    diary: Path

    def run_turn(self, wake: SessionWakeup | None = None) -> None:
        run_session(self.make_dependencies(), wake or self.harness.list_wakes()[-1], lambda: 60.0)

    def make_dependencies(self) -> TurnDependencies:
        plain = self.harness.make_dependencies()
        endpoints = {**plain.endpoints, "function": FunctionEndpoint(self.functions)}
        models = {**plain.models, "function": FunctionModel(self.functions, lambda: "salon")}
        return replace(plain, endpoints=endpoints, models=models)

    def send(self, binding: str, text: str) -> None:
        with self.harness.database.transaction(self.harness.tenant_id) as tx:
            found = bindings.find_binding_by_slug(tx, binding)
            assert found is not None
            contact = users.create_visitor(tx, binding_id=found.id, now=self.harness.clock())
            visitor = users.load_user_principal(tx, contact.user_id, found.id)
        self.harness.send_web(visitor, self.harness.find_session(visitor), text)

    def bookings(self) -> list[str]:
        """The numbers in the diary."""
        return [entry["number"] for entry in json.loads(self.diary.read_text()).values()] if self.diary.exists() else []

    def replies(self) -> list[object]:
        query = "SELECT body FROM messages WHERE direction = 'outbound' ORDER BY position"
        return [body for (body,) in self.harness.query(query)]


@contextmanager
def open_function_desk(database: Database, place: Path, layers: tuple[Path, ...] = _LAYERS) -> Iterator[FunctionDesk]:
    """The example, applied to a new tenant; its code is a copy in `place`, which a test may add to."""
    code, diary = place / "functions", place / "diary.json"
    shutil.copytree(EXAMPLE / "functions", code, ignore=shutil.ignore_patterns(".*", "__pycache__"))
    tenant_id = uuid7(NOW)
    pack = validate(folder.read_folder(EXAMPLE))
    apply(roles.operator_principal(tenant_id), database, WordEmbedder(), pack, NOW)
    functions = SandboxFunctions(code, {"DIARY": str(diary)}, layers)
    try:
        yield FunctionDesk(ConversationHarness(tenant_id, database, TickingClock(NOW)), functions, diary)
    finally:
        functions.close()
