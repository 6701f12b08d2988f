"""Carrying out one call so that it is done at most once, whatever fails where.

The state is committed before the endpoint is called and after it answered. A call that is found running, or whose
answer was lost, is settled as `doubt.next_move` says: called again where that is harmless, looked up where the tool
can be asked, and else left to a person.
"""

from dataclasses import replace
from typing import Literal, Protocol

from parlour.infra import log
from parlour.infra.errors import (
    LeaseLost,
    ModelError,
    OutcomeUnknown,
    RetryError,
    StillUnderWay,
    ToolCancelled,
    ToolFailed,
    ToolTimedOut,
)
from parlour.infra.jsonable import JsonObject
from parlour.tools.arguments import check
from parlour.tools.definition import Tool
from parlour.tools.doubt import Sofar, next_move
from parlour.tools.result import ToolResult, failed, succeeded
from parlour.tools.run import Endpoint, Endpoints, ToolContext, broken, endpoint_of

type Ended = Literal["done", "failed", "unknown"]

_AGAIN = 1
"""How often a call whose outcome is in doubt is made again by one worker, where that is harmless."""


class Book(Protocol):
    """Where the state of one call is committed. Whoever implements it fences: LeaseLost when another has taken over."""

    def begin(self) -> None:
        """The endpoint is about to be called; nobody may call it after a crash without asking first."""

    def end(self, state: Ended, result: ToolResult, /) -> None:
        """What it came to."""


def perform(
    context: ToolContext,
    tool: Tool,
    arguments: JsonObject,
    was: Literal["reserved", "running"],
    endpoints: Endpoints,
    book: Book,
) -> ToolResult:
    """Carry out a call that is `reserved`, or settle one that was found `running`; the result is in the book.

    RetryError (the database is away, the tool answers later) and LeaseLost go through, and the book stays as it is.
    """
    try:
        endpoint = endpoint_of(tool, endpoints)
        if was == "reserved":
            check(tool.schema, arguments)
    except ModelError as error:
        return _ended(context, tool, book, *_unreached(error, tool, was))
    sofar = Sofar(tool.is_repeatable, tool.writes, tool.lookup is not None, calls_left=_AGAIN)
    sofar = replace(sofar, doubt="crashed") if was == "running" else replace(sofar, calls_left=1 + _AGAIN)
    return _ended(context, tool, book, *_settle(context, tool, arguments, endpoint, book, sofar))


def overdue(context: ToolContext, tool: Tool, endpoints: Endpoints, book: Book) -> ToolResult:
    """Settle a call that the tool took and never answered: it is looked up, not made again."""
    if (found := _found(context, tool, endpoints)) is not None:
        return _ended(context, tool, book, "done", succeeded(found))
    return _ended(context, tool, book, "unknown" if tool.writes else "failed", failed(ToolTimedOut()))


def called_off(context: ToolContext, tool: Tool, endpoints: Endpoints, book: Book) -> ToolResult:
    """Settle a call that somebody stopped just when the tool took it: a write may still be done, whatever a lookup
    finds at this moment."""
    if (found := _found(context, tool, endpoints)) is not None:
        return _ended(context, tool, book, "done", succeeded(found))
    if tool.writes:
        return _ended(context, tool, book, "unknown", failed(OutcomeUnknown()))
    return _ended(context, tool, book, "failed", failed(ToolCancelled()))


def _found(context: ToolContext, tool: Tool, endpoints: Endpoints) -> JsonObject | None:
    """What the tool says became of the call; None when it says nothing of it."""
    try:
        return endpoint_of(tool, endpoints).lookup(context, tool) if tool.lookup else None
    except (ModelError, RetryError):
        return None


def _settle(
    context: ToolContext, tool: Tool, arguments: JsonObject, endpoint: Endpoint, book: Book, sofar: Sofar
) -> tuple[Ended, ToolResult]:
    while True:
        sofar = replace(sofar, stopped=context.line.is_hung_up)
        match next_move(sofar):
            case "call":
                book.begin()
                outcome = _called(context, tool, arguments, endpoint, sofar)
            case "look":
                outcome = _looked(context, tool, endpoint, sofar)
            case "fail":
                return "failed", failed(ToolCancelled() if sofar.stopped else ToolFailed())
            case "unknown":
                return "unknown", failed(StillUnderWay() if sofar.doubt == "late" else OutcomeUnknown())
        if not isinstance(outcome, Sofar):
            return outcome
        sofar = outcome


def _called(
    context: ToolContext, tool: Tool, arguments: JsonObject, endpoint: Endpoint, sofar: Sofar
) -> tuple[Ended, ToolResult] | Sofar:
    """What the call came to, or a doubt. A refusal says what this call did, not what one before it may have done."""
    in_doubt = sofar.writes and sofar.doubt is not None and sofar.looked != "absent"
    tried = replace(sofar, calls_left=sofar.calls_left - 1, looked=None)
    try:
        ended, result = _call(context, tool, arguments, endpoint)
    except OutcomeUnknown as error:
        late = isinstance(error, StillUnderWay) or (in_doubt and sofar.doubt == "late")
        return replace(tried, doubt="late" if late else "cut")
    return tried if in_doubt and ended == "failed" else (ended, result)


def _looked(context: ToolContext, tool: Tool, endpoint: Endpoint, sofar: Sofar) -> tuple[Ended, ToolResult] | Sofar:
    try:
        found = endpoint.lookup(context, tool)
    except (RetryError, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - a lookup that breaks tells nothing
        log.warning("lookup_failed", tool=tool.name, turn_id=context.turn_id, error=type(error).__name__)
        return replace(sofar, looked="unreachable")
    return ("done", succeeded(found)) if found is not None else replace(sofar, looked="absent")


def _call(context: ToolContext, tool: Tool, arguments: JsonObject, endpoint: Endpoint) -> tuple[Ended, ToolResult]:
    """What the endpoint said; OutcomeUnknown when it said nothing that can be relied on."""
    try:
        return "done", succeeded(endpoint.call(context, tool, arguments))
    except OutcomeUnknown:
        raise
    except ModelError as error:
        log.info("tool_refused", tool=tool.name, code=error.code, turn_id=context.turn_id)
        return "failed", failed(error)
    except (RetryError, LeaseLost):
        raise
    except Exception as error:
        problem = broken(context, tool, error)
        if tool.writes:
            raise OutcomeUnknown from error
        return "failed", failed(problem)


def _unreached(error: ModelError, tool: Tool, was: Literal["reserved", "running"]) -> tuple[Ended, ToolResult]:
    """The tool cannot be called as things are. One that was running may have been done all the same."""
    if was == "running" and tool.writes:
        return "unknown", failed(OutcomeUnknown())
    return "failed", failed(error)


def _ended(context: ToolContext, tool: Tool, book: Book, state: Ended, result: ToolResult) -> ToolResult:
    book.end(state, result)
    if state == "unknown":
        log.error("effect_unknown", tool=tool.name, turn_id=context.turn_id, tool_call_id=context.tool_call_id)
        log.count("UnknownEffect")
    return result
