"""Running one tool call: checked first, and never the reason why a turn breaks.

Only reads run. What changes something outside the turn needs an effect (reserved, run once, recorded); such
tools are refused when a pack is applied, and here too.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import LeaseLost, ModelError, RetryError, ToolFailed, ToolNotAvailable
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database
from parlour.principal import Principal
from parlour.tools.arguments import check
from parlour.tools.definition import BUILT_IN, Tool
from parlour.tools.registry import find
from parlour.tools.result import ToolResult, failed, succeeded


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom and where a tool runs. `fence` is the token of the lease that the turn holds."""

    principal: Principal
    database: Database
    session_id: UUID
    turn_id: UUID
    now: datetime
    new_id: NewId
    fence: int


type Builtin = Callable[[ToolContext, JsonObject], JsonObject]
"""A tool of Parlour's own: arguments (already checked) to an answer; raises ModelError to tell the model why not."""


def run_named(
    context: ToolContext, name: str, arguments: JsonObject, tools: Sequence[Tool], builtins: Mapping[str, Builtin]
) -> ToolResult:
    """Run the call a model asked for by name; an unknown name is answered like any other mistake."""
    try:
        tool = find(tools, name)
    except ModelError as error:
        return failed(error)
    return run_tool(context, tool, arguments, builtins)


def run_tool(context: ToolContext, tool: Tool, arguments: JsonObject, builtins: Mapping[str, Builtin]) -> ToolResult:
    """Check the arguments and run the tool; a mistake or a failure becomes a result that the model can act on.

    RetryError (the database is away, say) and LeaseLost go through: they concern the whole turn.
    """
    try:
        return succeeded(_call(context, tool, arguments, builtins))
    except ModelError as error:
        log.info("tool_refused", tool=tool.name, code=error.code, turn_id=context.turn_id)
        return failed(error)
    except (RetryError, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a tool does wrong, the conversation goes on
        log.error("tool_failed", error, tool=tool.name, turn_id=context.turn_id)
        log.count("ToolFailed")
        return failed(ToolFailed())


def _call(context: ToolContext, tool: Tool, arguments: JsonObject, builtins: Mapping[str, Builtin]) -> JsonObject:
    if not tool.is_read:
        raise ToolNotAvailable(f"{tool.name} cannot be used yet; answer without it")
    check(tool.schema, arguments)
    builtin = builtins[tool.endpoint.removeprefix(BUILT_IN)]
    return builtin(context, arguments)
