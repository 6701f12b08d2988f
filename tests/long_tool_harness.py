"""A desk with a long tool, and what its dispatcher is run with: what tests of long calls use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import pytest

from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.tenancy.users import load_access
from parlour.tools import callbacks, calls
from parlour.tools.callbacks import Callback
from parlour.tools.dispatch import DispatchDependencies, dispatch_call
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.rows import EndedCall
from parlour.tools.run import ToolContext
from tests.conversation_harness import ConversationHarness, text_answer
from tests.conversation_harness import tool_call as asks

TOKEN_SECRET = "s" * 40


class ProcessKilled(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@dataclass
class LongToolHarness:
    """A desk with a long tool, and what its dispatcher is run with."""

    conversation: ConversationHarness
    open_database: Callable[[], Database]
    performed_keys: list[str] = field(default_factory=list)
    before_result: Callable[[ToolContext], None] = lambda _: None
    lookup_result: JsonObject | None = None
    sent_wakes: list[PendingWakeup] = field(default_factory=list)
    sent_delayed: list[tuple[JsonObject, float]] = field(default_factory=list)
    callback_urls: list[str] = field(default_factory=list)
    wake_error: Exception | None = None

    def run_tool(self, context: ToolContext, arguments: JsonObject) -> JsonObject:
        self.callback_urls.append(context.callback_url)
        self.performed_keys.append(context.idempotency_key)
        self.before_result(context)
        return {"number": len(self.performed_keys)}

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self.sent_delayed.append((body, seconds))

    def wake(self, told: PendingWakeup) -> None:
        if self.wake_error:
            raise self.wake_error
        self.sent_wakes.append(told)

    def make_dependencies(self, database: Database | None = None) -> DispatchDependencies[PendingWakeup]:
        def resume(tx: Transaction, tenant_id: UUID, ended: EndedCall, now: datetime) -> PendingWakeup | None:
            return store_tool_result(tx, tenant_id, ended, now)

        def callback_url(callback: Callback, until: datetime, now: datetime) -> str:
            return callbacks.make_callback_url("https://p.example", callback, TOKEN_SECRET, until, now)

        lookups = {"found": lambda _: self.lookup_result}
        return DispatchDependencies(
            database=database or self.conversation.database,
            open_database=self.open_database,
            endpoints={"python": PythonEndpoint({"compile": self.run_tool}, lookups)},
            resume=resume,
            wake=self.wake,
            principal_for=lambda tx, call: load_access(tx, call.user_id, call.binding_id).principal_for(call.name),
            wakeups=self,
            callback_url=callback_url,
            clock=self.conversation.clock,
        )

    def begin_call(self, provider_id: str = "m1", /, **flags: bool | str | int) -> UUID:
        """A turn has asked for the tool and replied; the call waits for the dispatcher."""
        self.conversation.add_tool("compile", self.run_tool, **{"heavy": True, **flags})  # type: ignore[arg-type]
        self.conversation.send_whatsapp("Please compile the report.", provider_id)
        self.conversation.model.script = [asks("compile"), text_answer("It is being compiled.")]
        self.conversation.run_turn()
        ((call_id,),) = self.conversation.query("SELECT id FROM tool_calls ORDER BY started_at DESC LIMIT 1")
        assert isinstance(call_id, UUID)
        return call_id

    def dispatch_call(self, call_id: UUID, database: Database | None = None) -> None:
        dispatch_call(self.make_dependencies(database), self.conversation.tenant_id, call_id, lambda: 900.0)

    def kill_dispatcher(self, call_id: UUID) -> None:
        """The dispatcher's process ends while the tool is at it."""

        def die(_: ToolContext) -> None:
            raise ProcessKilled

        self.before_result = die
        with pytest.raises(ProcessKilled):
            self.dispatch_call(call_id)
        self.before_result = lambda _: None

    def post_callback(self, url: str, result: JsonObject) -> EndedCall:
        callback = callbacks.verify_callback_token(url.rpartition("/")[2], TOKEN_SECRET, self.conversation.clock())
        with self.conversation.database.transaction(callback.tenant_id) as tx:
            content = callbacks.parse_result(result)
            ended = calls.record_callback(tx, callback.call_id, callback.run_token, content, self.conversation.clock())
            store_tool_result(tx, callback.tenant_id, ended, self.conversation.clock())
        return ended

    def call_state(self) -> tuple[object, ...]:
        ((state, code),) = self.conversation.query("SELECT state, code FROM tool_calls")
        return state, code

    def tool_results(self) -> list[object]:
        return [body for (body,) in self.conversation.query("SELECT body FROM messages WHERE kind = 'tool_result'")]

    def due_times(self) -> list[tuple[object, ...]]:
        return self.conversation.query("SELECT due_at FROM work_due WHERE kind = 'tool_call'")
