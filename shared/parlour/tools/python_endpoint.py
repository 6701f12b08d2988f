"""How tools are reached: functions of Parlour's own."""

from collections.abc import Mapping

from parlour.infra.errors import OutcomeUnknown
from parlour.infra.json_values import JsonObject
from parlour.tools.run import BuiltinLookup, BuiltinTool, Endpoint, Endpoints, ToolContext
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

__all__ = ["Endpoint", "Endpoints", "PythonEndpoint"]


class PythonEndpoint:
    """Tools that are functions in this process, and the functions that tell what became of their calls."""

    def __init__(self, builtins: Mapping[str, BuiltinTool], lookups: Mapping[str, BuiltinLookup] | None = None) -> None:
        self._builtins = builtins
        self._lookups = lookups or {}

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """Return the function's answer, or raise what it raises."""
        return self._builtins[tool.endpoint.removeprefix(BUILTIN_SCHEME)](context, arguments)

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        """Return what its registered lookup says."""
        if (look := self._lookups.get((tool.lookup or "").removeprefix(BUILTIN_SCHEME))) is None:
            raise OutcomeUnknown
        return look(context)
