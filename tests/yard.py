"""A desk with a long tool, and what its dispatcher is run with: what tests of long calls use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.tools import callbacks, calls
from parlour.tools.callbacks import Callback
from parlour.tools.dispatch import Services, dispatch
from parlour.tools.endpoints import PythonEndpoint
from parlour.tools.records import EndedCall
from parlour.tools.run import ToolContext
from parlour.turns.resume import ToWake, tool_ended
from tests.desk import Desk, says
from tests.desk import calls as asks

SECRET = "s" * 40


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours catches it."""


@dataclass
class Yard:
    """A desk with a long tool, and what its dispatcher is run with."""

    desk: Desk
    open_database: Callable[[], Database]
    done: list[str] = field(default_factory=list)
    during: Callable[[ToolContext], None] = lambda _: None
    found: JsonObject | None = None
    woken: list[ToWake] = field(default_factory=list)
    delayed: list[tuple[JsonObject, float]] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    broken: Exception | None = None

    def tool(self, context: ToolContext, arguments: JsonObject) -> JsonObject:
        self.urls.append(context.callback_url)
        self.done.append(context.idempotency_key)
        self.during(context)
        return {"number": len(self.done)}

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self.delayed.append((body, seconds))

    def wake(self, told: ToWake) -> None:
        if self.broken:
            raise self.broken
        self.woken.append(told)

    def services(self, database: Database | None = None) -> Services[ToWake]:
        def resume(tx: Transaction, tenant_id: UUID, ended: EndedCall, now: datetime) -> ToWake | None:
            return tool_ended(tx, tenant_id, ended, uuid7, now)

        def callback_url(callback: Callback, until: datetime, now: datetime) -> str:
            return callbacks.url("https://p.example", callback, SECRET, until, now)

        lookups = {"found": lambda _: self.found}
        return Services(
            database=database or self.desk.database,
            open_database=self.open_database,
            endpoints={"python": PythonEndpoint({"compile": self.tool}, lookups)},
            resume=resume,
            wake=self.wake,
            wakeups=self,
            callback_url=callback_url,
            clock=self.desk.clock,
            new_id=uuid7,
        )

    def begin(self, provider_id: str = "m1", /, **flags: bool | str | int) -> UUID:
        """A turn has asked for the tool and replied; the call waits for the dispatcher."""
        self.desk.add_tool("compile", self.tool, **{"heavy": True, **flags})  # type: ignore[arg-type]
        self.desk.write("Please compile the report.", provider_id)
        self.desk.model.script = [asks("compile"), says("It is being compiled.")]
        self.desk.run()
        ((call_id,),) = self.desk.rows("SELECT id FROM tool_calls ORDER BY started_at DESC LIMIT 1")
        assert isinstance(call_id, UUID)
        return call_id

    def dispatch(self, call_id: UUID, database: Database | None = None) -> None:
        dispatch(self.services(database), self.desk.tenant_id, call_id, lambda: 900.0)

    def kill(self, call_id: UUID) -> None:
        """The dispatcher's process ends while the tool is at it."""

        def die(_: ToolContext) -> None:
            raise Killed

        self.during = die
        with pytest.raises(Killed):
            self.dispatch(call_id)
        self.during = lambda _: None

    def call_back(self, url: str, result: JsonObject) -> EndedCall:
        callback = callbacks.read(url.rpartition("/")[2], SECRET, self.desk.clock())
        with self.desk.database.transaction(callback.tenant_id) as tx:
            content = callbacks.result_of(result)
            ended = calls.called_back(tx, callback.call_id, callback.run, content, self.desk.clock())
            tool_ended(tx, callback.tenant_id, ended, uuid7, self.desk.clock())
        return ended

    def state(self) -> tuple[object, ...]:
        ((state, code),) = self.desk.rows("SELECT state, code FROM tool_calls")
        return state, code

    def told(self) -> list[object]:
        return [body for (body,) in self.desk.rows("SELECT body FROM messages WHERE kind = 'tool_result'")]

    def due(self) -> list[tuple[object, ...]]:
        return self.desk.rows("SELECT due_at FROM work_due WHERE kind = 'tool_call'")
