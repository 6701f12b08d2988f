"""Running one tool call: checked first, and never the reason why a turn fails.

What changes something outside the turn is an effect (`effects.perform_effect`); reads run here.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import LeaseLost, ModelError, RetryError, ToolFailed, ToolNotAvailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.tools.arguments import validate_arguments
from parlour.tools.cancellable_connection import CancellableConnection
from parlour.tools.registry import find_tool
from parlour.tools.result import ToolResult, error_result, success_result
from parlour.tools.tool_definition import Tool


class _RolledBack(Exception):
    """The end of a transaction that is to leave nothing behind."""


def _unlimited() -> float:
    return math.inf


@dataclass(frozen=True, slots=True)
class ToolContext:
    """For whom and where a tool runs.

    fencing_token    the token of the lease that the turn holds.
    idempotency_key  the same for every attempt of one call; endpoints receive it.
    seconds_left     until the invocation ends.
    tool_call_id     the call's row, which endpoints receive for their logs.
    callback_url     where a tool that answers later sends its result; empty: it has to answer at once.
    connection       by which a call that is given up is cut.
    team_id          the team that answers: the turn sees that team's own documents, and no other team's.
    entity_id        the record that the conversation is about.
    shown_level      the highest classification that the conversation has shown: the lower bound of what it writes.
    has_untrusted_text  whether the prompt shows text of others than the user and the tenant: what the call creates is
                     unverified, whatever rights the principal has.
    is_rehearsal     `write` leaves nothing behind: the call is only checked.
    approved_version  the version of the tool's code when a person was asked about the call; "" for other tools.
    user_messages    what the user wrote last, two messages at most, oldest first.
    """

    principal: Principal
    database: Database
    session_id: UUID
    turn_id: UUID
    now: datetime
    fencing_token: int
    idempotency_key: str = ""
    seconds_left: Callable[[], float] = _unlimited
    tool_call_id: UUID | None = None
    callback_url: str = ""
    connection: CancellableConnection = field(default_factory=CancellableConnection)
    team_id: UUID | None = None
    entity_id: UUID | None = None
    user_messages: Sequence[str] = ()
    shown_level: int = 0
    has_untrusted_text: bool = False
    is_rehearsal: bool = False
    approved_version: str = ""

    def write[R](self, work: Callable[[Transaction], R]) -> R:
        """Run a tool's one transaction as the principal, and roll it back where the call is rehearsed."""
        if not self.is_rehearsal:
            return self.database.run(self.principal, work)
        result: list[R] = []
        with suppress(_RolledBack), self.database.transaction(self.principal) as tx:
            result.append(work(tx))
            raise _RolledBack
        return result[0]


type BuiltinTool = Callable[[ToolContext, JsonObject], JsonObject]
"""A tool of Parlour's own: arguments (already checked) to an answer; raises ModelError to tell the model why not."""

type BuiltinLookup = Callable[[ToolContext], JsonObject | None]
"""What became of the call with `context.idempotency_key`; None: it was not done and will not be."""


class Endpoint(Protocol):
    """How tools of one scheme are reached."""

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """Return the tool's answer.

        ModelError: surely not done; OutcomeUnknown: it may have been done, or may still be; AnswersLater: the tool took
        the call and will call back.
        """

    def lookup(self, context: ToolContext, tool: Tool, /) -> JsonObject | None:
        """Return the result of the call with `context.idempotency_key`; None: it was not done and will not be.

        OutcomeUnknown when nobody can tell.
        """


type Endpoints = Mapping[str, Endpoint]
"""By scheme: python, function, https, http."""


def get_endpoint(tool: Tool, endpoints: Endpoints) -> Endpoint:
    """How the tool is reached; ToolNotAvailable when this deployment has no such way."""
    if (endpoint := endpoints.get(tool.scheme)) is None:
        raise ToolNotAvailable(f"{tool.name} cannot be reached from here; answer without it")
    return endpoint


def run_tool_by_name(
    context: ToolContext, name: str, arguments: JsonObject, tools: Sequence[Tool], endpoints: Endpoints
) -> ToolResult:
    """Run the read a model asked for by name; an unknown name is answered like any other mistake."""
    try:
        tool = find_tool(tools, name)
    except ModelError as error:
        return error_result(error)
    return run_tool(context, tool, arguments, endpoints)


def run_tool(context: ToolContext, tool: Tool, arguments: JsonObject, endpoints: Endpoints) -> ToolResult:
    """Check the arguments and run the tool; a mistake or a failure becomes a result that the model can act on.

    RetryError (the database is away, say) and LeaseLost go through: they concern the whole turn.
    """
    try:
        return success_result(_check_and_call(context, tool, arguments, endpoints))
    except ModelError as error:
        log.info("tool_refused", tool=tool.name, code=error.code, turn_id=context.turn_id)
        return error_result(error)
    except (RetryError, LeaseLost):
        raise
    except Exception as error:  # noqa: BLE001 - whatever a tool does wrong, the conversation goes on
        return error_result(report_broken_tool(context, tool, error))


def report_broken_tool(context: ToolContext, tool: Tool, problem: Exception) -> ToolFailed:
    """Return what the model reads of a tool that failed unexpectedly; the cause is for the log alone."""
    log.error("tool_failed", problem, tool=tool.name, turn_id=context.turn_id)
    log.count("ToolFailed")
    return ToolFailed()


def _check_and_call(context: ToolContext, tool: Tool, arguments: JsonObject, endpoints: Endpoints) -> JsonObject:
    if not tool.is_read_only:
        raise ToolNotAvailable(f"{tool.name} cannot be used yet; answer without it")
    validate_arguments(tool.schema, arguments)
    return get_endpoint(tool, endpoints).call(context, tool, arguments)
