"""Carrying out the calls that are not a turn's own: long ones, and those that a person wants run again.

A message wakes the dispatcher; the row says what to do. Whoever takes a call up gets the next token, and an outcome
is written under that token only, in one transaction with the message that resumes the conversation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import AnswersLater, DatabaseUnavailable, LeaseHeld, LeaseLost, OutcomeUnknown, UnknownTool
from parlour.infra.ids import NewId
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import Delays
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal, system
from parlour.tools import effects, store
from parlour.tools.callbacks import Callback
from parlour.tools.definition import Tool
from parlour.tools.effects import Ended
from parlour.tools.line import Line
from parlour.tools.records import Call, EndedCall
from parlour.tools.registry import load_tools
from parlour.tools.result import ToolResult, failed
from parlour.tools.run import Endpoint, ToolContext
from parlour.tools.watch import Watched

_SECONDS_KEPT = 20.0
"""What a call leaves of the invocation, so that it can be looked up and its outcome committed."""


@dataclass(frozen=True, slots=True)
class Services[W]:
    """What calls are dispatched with. W is what the turns room wants sent once a result is committed.

    open_database  a connection for a tool's own thread.
    resume         stores the result as a message of its conversation, once per call and run; part of the transaction.
    wake           sends what `resume` returned.
    wakeups        has the sweep look at a call again by the minute.
    callback_url   where a tool sends the result of a run that it answers later, awaited until then.
    """

    database: Database
    open_database: Callable[[], Database]
    endpoints: Mapping[str, Endpoint]
    resume: Callable[[Transaction, UUID, EndedCall, datetime], W | None]
    wake: Callable[[W], None]
    wakeups: Delays
    callback_url: Callable[[Callback, datetime, datetime], str]
    clock: Callable[[], datetime]
    new_id: NewId


@dataclass(frozen=True, slots=True)
class _Taken:
    """A call that this worker has, under the token `call.run`; `tool` is None when the tenant has it no more."""

    call: Call
    tool: Tool | None


def dispatch[W](services: Services[W], tenant_id: UUID, tool_call_id: UUID, seconds_left: SecondsLeft) -> None:
    """Bring one call to its end and resume its conversation, or leave it to the tool that answers later.

    A call that has ended is only told again, which does nothing twice. Raises RetryError (LeaseHeld while another
    worker is at it) and LeaseLost, so that the message is delivered again.
    """
    principal, holder = system(tenant_id), services.new_id(services.clock())
    taken = services.database.run(principal, partial(_take, services, tool_call_id, holder, seconds_left))
    match taken:
        case _Taken():
            _carry_out(services, principal, taken, seconds_left)
        case EndedCall():
            told = services.database.run(principal, lambda tx: services.resume(tx, tenant_id, taken, services.clock()))
            _wake(services, told)
        case None:
            log.info("tool_call_rests", tenant_id=tenant_id, tool_call_id=tool_call_id)


def _take[W](
    services: Services[W], call_id: UUID, holder: UUID, seconds_left: SecondsLeft, tx: Transaction
) -> _Taken | EndedCall | None:
    """The call under a new token; None when it is gone, or its tool has it and the time for that is not over.

    One that `holder` has already was taken by a transaction whose answer was lost.
    """
    now = services.clock()
    call = store.call(tx, call_id)
    if call is None or (ended := call.ended()) is not None:
        return ended if call else None
    if call.run_holder == holder:
        return _with_its_tool(tx, call)
    held = call.state == "running" and call.run_until is not None and call.run_until > now
    if held and call.is_awaited:
        return None
    until = now + timedelta(seconds=seconds_left())
    run = None if held else store.take(tx, call_id, call.run, holder, until, now)
    if run is None:
        raise LeaseHeld(after=_seconds_until(call.run_until, now))
    work_due.schedule(tx, "tool_call", call_id, until + work_due.GRACE)
    return _with_its_tool(tx, replace(call, run=run, run_until=until))


def _with_its_tool(tx: Transaction, call: Call) -> _Taken:
    tools = load_tools(tx, [call.name])
    return _Taken(call, tools[0] if tools else None)


def _carry_out[W](services: Services[W], principal: Principal, taken: _Taken, seconds_left: SecondsLeft) -> None:
    call, tool = taken.call, taken.tool
    book = _RunBook(services, principal, call)
    if tool is None:
        in_doubt = call.state == "running" and call.writes
        error = OutcomeUnknown() if in_doubt else UnknownTool(f"there is no tool {call.name} any more")
        book.end("unknown" if in_doubt else "failed", failed(error))
        return
    context = _context(services, principal, call, tool, seconds_left)
    if call.cancelled_at:
        context.line.hang_up()
    watched = {scheme: _watched(services, principal, call, one) for scheme, one in services.endpoints.items()}
    if call.is_taken:
        effects.overdue(context, tool, watched, book)
        return
    was: Literal["reserved", "running"] = "running" if call.state == "running" else "reserved"
    try:
        effects.perform(context, tool, call.arguments, was, watched, book)
    except AnswersLater:
        if not _await_answer(services, principal, call, tool):
            effects.called_off(context, tool, watched, book)


def _await_answer[W](services: Services[W], principal: Principal, call: Call, tool: Tool) -> bool:
    """The tool has the call: leave it, and have somebody look when its time is over. False when it is to be stopped.

    A result that was quicker than this has ended the call already, and another run may have begun.
    """
    now = services.clock()
    until = now + timedelta(seconds=tool.patience)

    def leave(tx: Transaction) -> Literal["left", "stopped", "over"]:
        if store.taken(tx, call.id, call.run, until):
            return "left"
        found = store.call(tx, call.id)
        goes_on = found is not None and found.run == call.run and found.state == "running"
        return "stopped" if goes_on else "over"

    became = services.database.run(principal, leave)
    if became == "left":
        work_due.send_wakeup(services.wakeups, DueWork(principal.tenant_id, "tool_call", call.id, until), now)
    log.info("tool_call_taken", tool=tool.name, tool_call_id=call.id, became=became)
    return became != "stopped"


def _context[W](
    services: Services[W], principal: Principal, call: Call, tool: Tool, seconds_left: SecondsLeft
) -> ToolContext:
    now = services.clock()
    until = now + timedelta(seconds=tool.patience)
    callback = Callback(principal.tenant_id, call.id, call.run)
    return ToolContext(
        principal=Principal(principal.tenant_id, "user", call.user_id, clearance=call.clearance),
        database=services.database, session_id=call.session_id, turn_id=call.turn_id, now=now,
        new_id=services.new_id, fence=call.fence, idempotency_key=call.idempotency_key,
        seconds_left=lambda: seconds_left() - _SECONDS_KEPT, tool_call_id=call.id,
        callback_url=services.callback_url(callback, until, now) if tool.heavy else "", line=Line(),
        team_id=call.team_id, entity_id=call.entity_id,
    )  # fmt: skip


def _watched[W](services: Services[W], principal: Principal, call: Call, endpoint: Endpoint) -> Endpoint:
    def is_stopped() -> bool:
        try:
            with services.database.transaction(principal) as tx:
                return not store.goes_on(tx, call.id, call.run)
        except DatabaseUnavailable:
            return False

    return Watched(endpoint, is_stopped, services.open_database)


class _RunBook[W]:
    """The call's row, written under the token of this run."""

    def __init__(self, services: Services[W], principal: Principal, call: Call) -> None:
        self._services = services
        self._principal = principal
        self._call = call
        self._began = services.clock()

    def begin(self) -> None:
        call = self._call
        if not self._services.database.run(self._principal, lambda tx: store.begin_run(tx, call.id, call.run)):
            raise LeaseLost

    def end(self, state: Ended, result: ToolResult, /) -> None:
        told = self._services.database.run(self._principal, lambda tx: self._end(tx, state, result))
        log.info("tool_call_ended", tool=self._call.name, tool_call_id=self._call.id, state=state, code=result.code)
        _wake(self._services, told)

    def _end(self, tx: Transaction, state: Ended, result: ToolResult) -> W | None:
        """Write the outcome and the message that tells it. Done twice, since the first commit's receipt was lost,
        the row says so itself."""
        call, now = self._call, self._services.clock()
        took = max(0, round((now - self._began).total_seconds() * 1000))
        store.end_run(
            tx, id=call.id, run=call.run, state=state, result=result.content, code=result.code or None,
            latency_ms=took, now=now,
        )  # fmt: skip
        written = store.call(tx, call.id)
        ended = written.ended() if written else None
        if ended is None or ended.run != call.run:
            raise LeaseLost
        return self._services.resume(tx, self._principal.tenant_id, ended, now)


def _wake[W](services: Services[W], told: W | None) -> None:
    if told is not None:
        services.wake(told)


def _seconds_until(end: datetime | None, now: datetime) -> int:
    return max(1, int((end - now).total_seconds()) + 1) if end else 1
