"""How tools are reached that are functions of a pack: by invoking the function that runs the tenant's code."""

from parlour.infra import log
from parlour.infra.errors import (
    ApprovalChanged,
    OutcomeUnknown,
    StillUnderWay,
    ToolCancelled,
    ToolFailed,
    ToolRefused,
    ToolTimedOut,
)
from parlour.infra.functions import FunctionFailed, FunctionNotCalled, FunctionTimedOut, PackFunctions
from parlour.infra.json_values import JsonObject
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import FUNCTION_SCHEME, Tool

_LOOKUP_SECONDS = 10

#: A cold start and the import of the code.
_REHEARSAL_SECONDS = 10


class FunctionEndpoint:
    """Tools whose endpoint is `function:module.name`."""

    def __init__(self, functions: PackFunctions) -> None:
        self._functions = functions

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """Return the function's result; raises as `Endpoint`. A rehearsal returns `{"code_version": …}`."""
        if context.connection.is_cancelled:
            raise ToolCancelled
        if context.is_rehearsal:
            seconds = min(_REHEARSAL_SECONDS, context.seconds_left())
            return self._invoke(tool, _event(context, tool, "rehearsal"), seconds, writes=False)
        event: JsonObject = {**_event(context, tool, "call"), "arguments": arguments}
        if context.approved_version:
            event["approved_version"] = context.approved_version
        answer = self._invoke(tool, event, min(tool.max_wait_seconds, context.seconds_left()), writes=tool.writes)
        if answer.get("changed"):
            raise ApprovalChanged("The code of the tool changed since the question was asked; nothing was done.")
        if isinstance(refusal := answer.get("refusal"), str):
            raise ToolRefused(refusal[:1000])
        result = answer.get("result")
        return result if isinstance(result, dict) else {}

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        """Return what the function's lookup finds for the context's key, or None."""
        seconds = min(_LOOKUP_SECONDS, context.seconds_left())
        result = self._invoke(tool, _event(context, tool, "lookup"), seconds, writes=False).get("result")
        return result if isinstance(result, dict) else None

    def _invoke(self, tool: Tool, event: JsonObject, seconds: float, *, writes: bool) -> JsonObject:
        try:
            return self._functions.invoke(tool.tenant_slug, event, seconds)
        except FunctionNotCalled as error:
            log.error("pack_function_not_called", error, tool=tool.name)
            raise ToolFailed(
                f"{tool.name} could not be reached; nothing was done. It may work when tried again."
            ) from error
        except FunctionTimedOut as error:
            raise (StillUnderWay if writes else ToolTimedOut) from error
        except FunctionFailed as error:
            raise (OutcomeUnknown if writes else ToolFailed)(detail=error.detail) from error


def _event(context: ToolContext, tool: Tool, kind: str) -> JsonObject:
    return {
        "kind": kind,
        "function": tool.endpoint.removeprefix(FUNCTION_SCHEME),
        "call": {
            "key": context.idempotency_key,
            "tenant": tool.tenant_slug,
            "principal": context.principal.name,
            "session_id": str(context.session_id),
        },
    }
