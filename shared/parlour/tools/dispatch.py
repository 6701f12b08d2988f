"""Carrying out the calls that are not a turn's own: long ones, and those that a person wants run again.

A message wakes the dispatcher; the row says what to do. Whoever takes a call up gets the next token and a lease that is
renewed until the call ends. An outcome is written under that token only, in one transaction with the message that
resumes the conversation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import (
    AnswersLater,
    DatabaseUnavailable,
    LeaseHeld,
    LeaseLost,
    OutcomeUnknown,
    UnknownTool,
)
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import DelayedQueue
from parlour.jobs import work_due
from parlour.jobs.renewal import lease_end, renew_lease
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal, system_principal
from parlour.tools import effects, store
from parlour.tools.callbacks import Callback
from parlour.tools.cancellable_connection import CancellableConnection
from parlour.tools.cancellable_endpoint import CancellableEndpoint
from parlour.tools.effects import EndState
from parlour.tools.registry import load_tools
from parlour.tools.result import ToolResult, error_result
from parlour.tools.rows import ClaimedCall, EndedCall, ToolCall
from parlour.tools.run import Endpoint, ToolContext
from parlour.tools.tool_definition import Tool

_RESERVED_SECONDS = 20.0
"""What a call leaves of the invocation, so that it can be looked up and its outcome committed."""


@dataclass(frozen=True, slots=True)
class DispatchDependencies[W]:
    """What calls are dispatched with. W is what the turns room wants sent once a result is committed.

    open_database  a connection for a tool's own thread.
    resume         stores the result as a message of its conversation, once per call and run; part of the transaction.
    wake           sends what `resume` returned.
    wakeups        has the sweep look at a call again by the minute.
    principal_for  as whom a call runs: the session's user with the rights that they have now, for the named tool.
    callback_url   where a tool sends the result of a run that it answers later, awaited until then.
    claim          for a call that is about to begin: what it begins with. Part of the transaction that leases the
                   call.
    """

    database: Database
    open_database: Callable[[], Database]
    endpoints: Mapping[str, Endpoint]
    resume: Callable[[Transaction, UUID, EndedCall, datetime], W | None]
    wake: Callable[[W], None]
    wakeups: DelayedQueue
    principal_for: Callable[[Transaction, ToolCall], Principal]
    callback_url: Callable[[Callback, datetime, datetime], str]
    clock: Callable[[], datetime]
    claim: Callable[[Transaction, ToolCall, Tool | None, datetime], ClaimedCall] = lambda _tx, _call, _tool, _now: (
        ClaimedCall()
    )


@dataclass(frozen=True, slots=True)
class _LeasedCall:
    """A call that this worker has, under the token `call.run`; `tool` is None when the tenant has it no more."""

    call: ToolCall
    tool: Tool | None
    principal: Principal
    claimed: ClaimedCall


def dispatch_call[W](
    dependencies: DispatchDependencies[W], tenant_id: UUID, tool_call_id: UUID, seconds_left: SecondsLeft
) -> None:
    """Bring one call to its end and resume its conversation, or leave it to the tool that answers later.

    A call that has ended is only told again, which does nothing twice. Raises RetryError (LeaseHeld while another
    worker is at it) and LeaseLost, so that the message is delivered again.
    """
    principal, holder = system_principal(tenant_id), uuid7(dependencies.clock())
    taken = dependencies.database.run(principal, partial(_lease, dependencies, tool_call_id, holder, seconds_left))
    match taken:
        case _LeasedCall():
            call = taken.call
            with renew_lease(
                dependencies.database,
                tenant_id,
                lambda tx, until: store.renew_run(tx, call.id, call.run_token, until),
                dependencies.clock,
                seconds_left,
            ):
                _run_call(dependencies, principal, taken, seconds_left)
        case EndedCall():
            told = dependencies.database.run(
                principal, lambda tx: dependencies.resume(tx, tenant_id, taken, dependencies.clock())
            )
            _send_wakeup(dependencies, told)
        case None:
            log.info("tool_call_parked", tenant_id=tenant_id, tool_call_id=tool_call_id)


def _lease[W](
    dependencies: DispatchDependencies[W], call_id: UUID, holder: UUID, seconds_left: SecondsLeft, tx: Transaction
) -> _LeasedCall | EndedCall | None:
    """Lease the call under a new token.

    None when the call is gone, or its tool has it and still has time. A call that `holder` has already was taken by a
    transaction whose answer was lost.
    """
    now = dependencies.clock()
    call = store.find_call(tx, call_id)
    if call is None or (ended := call.to_ended_call()) is not None:
        return ended if call else None
    if call.run_holder == holder:
        return _with_tool(dependencies, tx, call)
    held = call.state == "running" and call.run_until is not None and call.run_until > now
    if held and call.is_awaiting_callback:
        return None
    until = lease_end(now, seconds_left)
    run = None if held else store.lease_call(tx, call_id, call.run_token, holder, until, now)
    if run is None:
        raise LeaseHeld(retry_after=max(1, int((call.run_until - now).total_seconds()) + 1) if call.run_until else 1)
    work_due.schedule(tx, "tool_call", call_id, until + work_due.CHECK_DELAY)
    return _with_tool(dependencies, tx, replace(call, run_token=run, run_until=until))


def _with_tool[W](dependencies: DispatchDependencies[W], tx: Transaction, call: ToolCall) -> _LeasedCall:
    tool = next(iter(load_tools(tx, [call.name])), None)
    claimed = dependencies.claim(tx, call, tool, dependencies.clock())
    return _LeasedCall(call, tool, dependencies.principal_for(tx, call), claimed)


def _run_call[W](
    dependencies: DispatchDependencies[W], principal: Principal, leased: _LeasedCall, seconds_left: SecondsLeft
) -> None:
    call, tool, claimed = leased.call, leased.tool, leased.claimed
    book = _DispatchedCallRecorder(dependencies, principal, call)
    if claimed.refusal is not None and call.state == "reserved":
        book.end("failed", error_result(claimed.refusal))
        return
    if tool is None:
        in_doubt = call.state == "running" and call.writes
        error = OutcomeUnknown() if in_doubt else UnknownTool(f"there is no tool {call.name} any more")
        book.end("unknown" if in_doubt else "failed", error_result(error))
        return
    now = dependencies.clock()
    until = now + timedelta(seconds=tool.max_wait_seconds)
    callback = Callback(principal.tenant_id, call.id, call.run_token)
    context = ToolContext(
        principal=leased.principal,
        database=dependencies.database,
        session_id=call.session_id,
        turn_id=call.turn_id,
        now=now,
        fencing_token=call.fencing_token,
        idempotency_key=call.idempotency_key,
        seconds_left=lambda: seconds_left() - _RESERVED_SECONDS,
        tool_call_id=call.id,
        callback_url=dependencies.callback_url(callback, until, now) if tool.heavy else "",
        connection=CancellableConnection(),
        team_id=call.team_id,
        entity_id=call.entity_id,
        shown_level=claimed.shown_level,
        approved_version=claimed.approved_version,
    )
    if call.cancelled_at:
        context.connection.cancel()
    watched = {
        scheme: _cancellable(dependencies, principal, call, one) for scheme, one in dependencies.endpoints.items()
    }
    if call.is_accepted:
        effects.resolve_overdue(context, tool, watched, book)
        return
    was: Literal["reserved", "running"] = "running" if call.state == "running" else "reserved"
    try:
        effects.perform_effect(context, tool, call.arguments, was, watched, book)
    except AnswersLater:
        if not _leave_to_callback(dependencies, principal, call, tool):
            effects.resolve_cancelled(context, tool, watched, book)


def _leave_to_callback[W](
    dependencies: DispatchDependencies[W], principal: Principal, call: ToolCall, tool: Tool
) -> bool:
    """Leave the call to its tool, and schedule a check when its time is over; False when it is to be stopped.

    A faster result has ended the call already, and another run may have begun.
    """
    now = dependencies.clock()
    until = now + timedelta(seconds=tool.max_wait_seconds)

    def leave(tx: Transaction) -> Literal["waiting", "stopped", "ended"]:
        if store.mark_accepted(tx, call.id, call.run_token, until):
            return "waiting"
        found = store.find_call(tx, call.id)
        goes_on = found is not None and found.run_token == call.run_token and found.state == "running"
        return "stopped" if goes_on else "ended"

    became = dependencies.database.run(principal, leave)
    if became == "waiting":
        work_due.send_wakeup(dependencies.wakeups, DueWork(principal.tenant_id, "tool_call", call.id, until), now)
    log.info("tool_call_accepted", tool=tool.name, tool_call_id=call.id, became=became)
    return became != "stopped"


def _cancellable[W](
    dependencies: DispatchDependencies[W], principal: Principal, call: ToolCall, endpoint: Endpoint
) -> Endpoint:
    def is_stopped() -> bool:
        try:
            with dependencies.database.transaction(principal) as tx:
                return not store.is_run_wanted(tx, call.id, call.run_token)
        except DatabaseUnavailable:
            return False

    return CancellableEndpoint(endpoint, is_stopped, dependencies.open_database)


class _DispatchedCallRecorder[W]:
    """The call's row, written under the token of this run."""

    def __init__(self, services: DispatchDependencies[W], principal: Principal, call: ToolCall) -> None:
        self._services = services
        self._principal = principal
        self._call = call
        self._started_at = services.clock()

    def begin(self) -> None:
        call = self._call
        if not self._services.database.run(self._principal, lambda tx: store.begin_run(tx, call.id, call.run_token)):
            raise LeaseLost

    def end(self, state: EndState, result: ToolResult, /) -> None:
        told = self._services.database.run(self._principal, lambda tx: self._write_end(tx, state, result))
        log.info("tool_call_ended", tool=self._call.name, tool_call_id=self._call.id, state=state, code=result.code)
        _send_wakeup(self._services, told)

    def _write_end(self, tx: Transaction, state: EndState, result: ToolResult) -> W | None:
        """Write the outcome and the message that tells it. Done twice, since the first commit's receipt was lost,
        the row says so itself."""
        call, now = self._call, self._services.clock()
        took = max(0, round((now - self._started_at).total_seconds() * 1000))
        store.end_run(
            tx,
            id=call.id,
            run=call.run_token,
            state=state,
            result=result.content,
            code=result.code or None,
            detail=result.detail,
            latency_ms=took,
            now=now,
        )
        written = store.find_call(tx, call.id)
        ended = written.to_ended_call() if written else None
        if ended is None or ended.run_token != call.run_token:
            raise LeaseLost
        return self._services.resume(tx, self._principal.tenant_id, ended, now)


def _send_wakeup[W](dependencies: DispatchDependencies[W], told: W | None) -> None:
    if told is not None:
        dependencies.wake(told)
