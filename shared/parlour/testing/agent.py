"""A conversation with an agent of a pack, in one process."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from parlour.conversations import turn_views
from parlour.conversations.handoff_rules import HAND_OFF
from parlour.conversations.handoffs import hand_off
from parlour.conversations.inbound_messages import SessionWakeup, WebMessage, receive_web_message
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.infra.errors import InvalidRequest
from parlour.infra.functions import FunctionFailed
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database
from parlour.models.function_model import FunctionModel
from parlour.models.model import object_items
from parlour.pack_functions import entry
from parlour.pack_functions.agent import blocks_of, result_text
from parlour.packs import folder
from parlour.packs.apply import apply
from parlour.packs.function_tools import FUNCTIONS_FOLDER
from parlour.packs.validate import validate
from parlour.principal import Principal
from parlour.tenancy import bindings, roles, users
from parlour.testing.doubles import FakeDelayedQueue, FakeQueue, ScriptedModel, WordEmbedder
from parlour.testing.embedded_database import temporary_database
from parlour.tools.builtin import builtin_tools
from parlour.tools.function_endpoint import FunctionEndpoint
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool

_SECONDS_LEFT = 60.0

type Answer = str | JsonObject | list[JsonObject]
"""What the model says in one step: a text, a call, or several calls at once."""

type ToolDouble = Callable[[JsonObject], JsonObject]
"""Answers in place of a tool that is called over HTTP."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the turn made.

    state   done, failed, unknown, or reserved for a heavy tool, which a test does not run.
    result  what the model read.
    """

    name: str
    arguments: Mapping[str, Any]
    state: str
    result: str

    @property
    def data(self) -> Any:
        """Return the result as JSON."""
        return json.loads(self.result)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the user reads, and what the turn did for it."""

    text: str
    tool_calls: Sequence[ToolCall]


def call(tool: str, /, **arguments: Any) -> JsonObject:
    """Return an answer in which the model calls a tool."""
    return {"type": "tool_use", "name": tool, "input": arguments}


class Agent:
    """An agent of a pack for the length of a `with` block, with a database of its own."""

    def __init__(
        self,
        pack: str | Path,
        answers: Sequence[Answer] = (),
        *,
        binding: str = "",
        tools: Mapping[str, ToolDouble] | None = None,
    ) -> None:
        """`binding`: its slug, if the pack has several; `tools`: answers in place of tools over HTTP, by name.

        Raises InvalidPack for a pack with mistakes, InvalidRequest for a binding that it does not have.
        """
        self.model = ScriptedModel()
        self._folder = Path(pack)
        self._pack = validate(folder.read_folder(self._folder))
        self._binding = binding or next(iter(self._pack.bindings))
        if self._binding not in self._pack.bindings:
            raise InvalidRequest(f"there is no binding {binding}; there are: {', '.join(self._pack.bindings)}")
        self._functions = _InProcessFunctions()
        self._doubles = _ToolDoubles(tools or {})
        self._opened = ExitStack()
        self._queue = FakeQueue()
        self._call_count = 0
        self.will_answer(*answers)

    def will_answer(self, *answers: Answer) -> None:
        """Add to what the model says, one answer per step of a turn."""
        for answer in answers:
            if isinstance(answer, str):
                self.model.script.append([{"type": "text", "text": answer}])
            else:
                calls = [answer] if isinstance(answer, dict) else answer
                self.model.script.append([self._number(one) for one in calls])

    def __enter__(self) -> Self:
        """Apply the pack and open a conversation on the web."""
        self._database: Database = self._opened.enter_context(temporary_database())
        path = str((self._folder / FUNCTIONS_FOLDER).resolve())
        sys.path.insert(0, path)
        self._opened.callback(sys.path.remove, path)
        now = datetime.now(UTC)
        self._admin = roles.operator_principal(uuid7(now))
        apply(self._admin, self._database, WordEmbedder(), self._pack, now)
        with self._database.transaction(self._admin.tenant_id) as tx:
            found = bindings.find_binding_by_slug(tx, self._binding)
            if found is None:
                raise InvalidRequest(f"the binding {self._binding} is switched off in the pack")
            contact = users.create_visitor(tx, binding_id=found.id, now=now)
            self._visitor: Principal = users.load_user_principal(tx, contact.user_id, found.id)
        self._session_id: UUID = contact.session_id
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove the database."""
        self._opened.close()

    def say(self, text: str) -> Reply:
        """Send a message and run its turn. An exception of one of the pack's functions is raised after the turn."""
        dependencies = self._make_dependencies()
        message, now = WebMessage(self._session_id, text, None), datetime.now(UTC)
        receive_web_message(self._visitor, self._database, self._queue, dependencies.wakeup_queue, message, now)
        run_session(dependencies, SessionWakeup(self._admin.tenant_id, self._session_id), lambda: _SECONDS_LEFT)
        if self._functions.errors:
            raise self._functions.errors.pop(0)
        with self._database.transaction(self._admin.tenant_id) as tx:
            page = turn_views.list_turns(self._admin, tx, 1, self._session_id)
            turn = turn_views.get_turn(self._admin, tx, page.rows[0].id)
        states = [str(one["state"]) for one in turn.tool_calls]
        calls = [
            ToolCall(block["name"], block["input"], state, result)
            for state, (block, result) in zip(states, self._list_calls()[-len(states) :], strict=bool(states))
        ]
        return Reply(str((turn.reply or {}).get("text", "")), calls)

    def _list_calls(self) -> list[tuple[Mapping[str, Any], str]]:
        """Return the calls with their results as the last prompt shows them: this turn's are the last ones."""
        messages = self._functions.messages or [*self.model.requests[-1].messages]
        blocks = [block for message in messages for block in blocks_of(message)]
        results = {block["tool_use_id"]: result_text(block) for block in blocks if block["type"] == "tool_result"}
        return [(block, results[block["id"]]) for block in blocks if block["type"] == "tool_use"]

    def _number(self, block: JsonObject) -> JsonObject:
        self._call_count += 1
        return {"id": f"call_{self._call_count}", **block}

    def _make_dependencies(self) -> TurnDependencies:
        embedding = FakeDelayedQueue()
        handlers = builtin_tools.builtin_handlers(lambda _database, _tenant: WordEmbedder(), embedding)
        builtins = {**handlers, HAND_OFF: hand_off}
        return TurnDependencies(
            database=self._database,
            models={
                self.model.provider: self.model,
                FunctionModel.provider: FunctionModel(self._functions, lambda: self._pack.tenant.slug),
            },
            endpoints={
                "python": PythonEndpoint(builtins, builtin_tools.BUILTIN_LOOKUPS),
                "function": FunctionEndpoint(self._functions),
                "https": self._doubles,
                "http": self._doubles,
            },
            outbox_queue=FakeQueue(),
            tool_queue=FakeQueue(),
            embedding_queue=embedding,
            memory_queue=FakeDelayedQueue(),
            wakeup_queue=FakeDelayedQueue(),
            max_tenant_turns=1,
            embedder_of=lambda _database, _tenant: WordEmbedder(),
            default_cap_usd=Decimal(1000),
            clock=lambda: datetime.now(UTC),
            sleep=lambda _: None,
            jitter=lambda low, _: low,
        )


@dataclass(slots=True)
class _InProcessFunctions:
    """The pack's code in the test's own process, where a test can patch it and debug it."""

    errors: list[Exception] = field(default_factory=list)
    messages: list[JsonObject] = field(default_factory=list)

    def invoke(self, tenant: str, event: JsonObject, seconds: float, /) -> JsonObject:
        """Run the function; `say` raises later what it raised."""
        del seconds
        if isinstance(request := event.get("request"), dict):
            self.messages = object_items(request["messages"])
        try:
            return entry.handle(event)
        except Exception as error:
            self.errors.append(error)
            raise FunctionFailed(tenant, str(error)) from error


@dataclass(frozen=True, slots=True)
class _ToolDoubles:
    """What the test gave in place of tools over HTTP. Nothing is called outside of the process."""

    by_name: Mapping[str, ToolDouble]

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """Return the double's answer."""
        del context
        if tool.name not in self.by_name:
            raise LookupError(
                f'give testing.Agent an answer for {tool.name}: tools={{"{tool.name}": lambda given: ...}}'
            )
        return self.by_name[tool.name](arguments)

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        """Return None: a double that did not answer did nothing."""
        del context, tool
        return None
