"""Running one call so that it is done at most once, whatever fails.

The state is committed before the endpoint is called and after it answered. A call that is found running, or whose
answer was lost, is settled as `effect_status.next_action` says: called again where that is harmless, looked up where
the tool can be asked, and else left to a person.
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
    ToolNotAvailable,
    ToolTimedOut,
)
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal
from parlour.tools.arguments import validate_arguments
from parlour.tools.effect_status import EffectStatus, next_action
from parlour.tools.result import ToolResult, error_result, success_result
from parlour.tools.run import Endpoint, Endpoints, ToolContext, get_endpoint, report_broken_tool
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

type EndState = Literal["done", "failed", "unknown"]

_MAX_REPEATS = 1
"""How often a call whose outcome is in doubt is made again by one worker, where that is harmless."""


def not_allowed(principal: Principal) -> ToolNotAvailable:
    """Return what a model is told that asks for a tool which its agent, or the user it talks to, may not use.

    `principal` has the rights that the user has in general.
    """
    if principal.write_rights == "none":
        return ToolNotAvailable(
            "you may ask and explain here, not change anything; nothing was done. Tell the user what you would have "
            "done"
        )
    return ToolNotAvailable(
        "this tool is not for this user; nothing was done. Tell them so, and what you would have done. They may still "
        "create records, and correct those of their own"
    )


class CallRecorder(Protocol):
    """Where the state of one call is committed. Whoever implements it fences: LeaseLost when another has taken over."""

    def begin(self) -> None:
        """Store that the endpoint is about to be called; after a crash nobody calls it without asking first."""

    def end(self, state: EndState, result: ToolResult, /) -> None:
        """Store the outcome."""


def perform_effect(
    context: ToolContext,
    tool: Tool,
    arguments: JsonObject,
    state: Literal["reserved", "running"],
    endpoints: Endpoints,
    recorder: CallRecorder,
) -> ToolResult:
    """Carry out a call that is `reserved`, or settle one that was found `running`; the result is in the book.

    RetryError (the database is away, the tool answers later) and LeaseLost go through, and the book stays as it is.
    """
    try:
        endpoint = get_endpoint(tool, endpoints)
        if state == "reserved":
            if not has_write_rights(context.principal, tool):
                raise not_allowed(context.principal)
            validate_arguments(tool.schema, arguments)
    except ModelError as error:
        return _record_end(context, tool, recorder, *_outcome_if_unreachable(error, tool, state))
    sofar = EffectStatus(tool.is_repeatable, tool.writes, tool.lookup is not None, calls_left=_MAX_REPEATS)
    sofar = replace(sofar, doubt_cause="crashed") if state == "running" else replace(sofar, calls_left=1 + _MAX_REPEATS)
    return _record_end(context, tool, recorder, *_run_until_ended(context, tool, arguments, endpoint, recorder, sofar))


def has_write_rights(principal: Principal, tool: Tool) -> bool:
    """Return whether the principal may use the tool.

    A tool outside of Parlour cannot tell what a user created, so it needs the rights to everything; built-in tools
    check each record.
    """
    rights = principal.write_rights
    return not tool.writes or rights == "all" or (rights == "own" and tool.endpoint.startswith(BUILTIN_SCHEME))


def resolve_overdue(context: ToolContext, tool: Tool, endpoints: Endpoints, recorder: CallRecorder) -> ToolResult:
    """Settle a call that the tool took and never answered: it is looked up, not made again."""
    if (found := _find_lookup_result(context, tool, endpoints)) is not None:
        return _record_end(context, tool, recorder, "done", success_result(found))
    return _record_end(context, tool, recorder, "unknown" if tool.writes else "failed", error_result(ToolTimedOut()))


def resolve_cancelled(context: ToolContext, tool: Tool, endpoints: Endpoints, recorder: CallRecorder) -> ToolResult:
    """Settle a call that somebody stopped just when the tool took it: a write may still be done, whatever a lookup
    finds at this moment."""
    if (found := _find_lookup_result(context, tool, endpoints)) is not None:
        return _record_end(context, tool, recorder, "done", success_result(found))
    if tool.writes:
        return _record_end(context, tool, recorder, "unknown", error_result(OutcomeUnknown()))
    return _record_end(context, tool, recorder, "failed", error_result(ToolCancelled()))


def _find_lookup_result(context: ToolContext, tool: Tool, endpoints: Endpoints) -> JsonObject | None:
    """Return what the tool says became of the call; None when it says nothing."""
    try:
        return get_endpoint(tool, endpoints).lookup(context, tool) if tool.lookup else None
    except (ModelError, RetryError):
        return None


def _run_until_ended(
    context: ToolContext,
    tool: Tool,
    arguments: JsonObject,
    endpoint: Endpoint,
    recorder: CallRecorder,
    status: EffectStatus,
) -> tuple[EndState, ToolResult]:
    while True:
        status = replace(status, is_stopped=context.connection.is_cancelled)
        match next_action(status):
            case "call":
                recorder.begin()
                outcome = _try_call(context, tool, arguments, endpoint, status)
            case "look_up":
                outcome = _try_lookup(context, tool, endpoint, status)
            case "fail":
                return "failed", error_result(
                    (ToolCancelled if status.is_stopped else ToolFailed)(detail=status.detail)
                )
            case "unknown":
                error = StillUnderWay if status.doubt_cause == "timed_out" else OutcomeUnknown
                return "unknown", error_result(error(detail=status.detail))
        if not isinstance(outcome, EffectStatus):
            return outcome
        status = outcome


def _try_call(
    context: ToolContext, tool: Tool, arguments: JsonObject, endpoint: Endpoint, status: EffectStatus
) -> tuple[EndState, ToolResult] | EffectStatus:
    """Return the call's outcome, or that it is unknown. A refusal speaks for this call, not for an earlier one."""
    in_doubt = status.writes and status.doubt_cause is not None and status.lookup_result != "absent"
    tried = replace(status, calls_left=status.calls_left - 1, lookup_result=None)
    try:
        ended, result = _call_endpoint(context, tool, arguments, endpoint)
    except OutcomeUnknown as error:
        late = isinstance(error, StillUnderWay) or (in_doubt and status.doubt_cause == "timed_out")
        return replace(tried, doubt_cause="timed_out" if late else "disconnected", detail=error.detail)
    return tried if in_doubt and ended == "failed" else (ended, result)


def _try_lookup(
    context: ToolContext, tool: Tool, endpoint: Endpoint, status: EffectStatus
) -> tuple[EndState, ToolResult] | EffectStatus:
    try:
        found = endpoint.lookup(context, tool)
    except (RetryError, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - a lookup that breaks tells nothing
        log.warning("lookup_failed", tool=tool.name, turn_id=context.turn_id, error=type(error).__name__)
        return replace(status, lookup_result="unreachable")
    return ("done", success_result(found)) if found is not None else replace(status, lookup_result="absent")


def _call_endpoint(
    context: ToolContext, tool: Tool, arguments: JsonObject, endpoint: Endpoint
) -> tuple[EndState, ToolResult]:
    """Return what the endpoint answered; OutcomeUnknown when it gave no reliable answer."""
    try:
        return "done", success_result(endpoint.call(context, tool, arguments))
    except OutcomeUnknown:
        raise
    except ModelError as error:
        log.info("tool_refused", tool=tool.name, code=error.code, turn_id=context.turn_id)
        return "failed", error_result(error)
    except (RetryError, LeaseLost):
        raise
    except Exception as error:
        problem = report_broken_tool(context, tool, error)
        if tool.writes:
            raise OutcomeUnknown from error
        return "failed", error_result(problem)


def _outcome_if_unreachable(
    error: ModelError, tool: Tool, state: Literal["reserved", "running"]
) -> tuple[EndState, ToolResult]:
    """Return the outcome of a tool that cannot be called now. A call that was running may have been done."""
    if state == "running" and tool.writes:
        return "unknown", error_result(OutcomeUnknown())
    return "failed", error_result(error)


def _record_end(
    context: ToolContext, tool: Tool, recorder: CallRecorder, state: EndState, result: ToolResult
) -> ToolResult:
    recorder.end(state, result)
    if state == "unknown":
        log.error(
            "tool_call_outcome_unknown", tool=tool.name, turn_id=context.turn_id, tool_call_id=context.tool_call_id
        )
        log.count("UnknownEffect")
    return result
