"""A call of one tool by its developer, without a model and a conversation.

Arguments, rights, hosts and secrets are checked as in a turn. A call about which a turn would ask a person is made only
if the developer agreed to it.
"""

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from parlour.approvals import policy
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, bindings
from parlour.tools import effects, registry
from parlour.tools.effects import EndState
from parlour.tools.result import ToolResult
from parlour.tools.run import Endpoints, ToolContext
from parlour.tools.tool_definition import BUILTIN_SCHEME, Tool

_MAX_SECONDS = 25.0
"""A caller waits for the answer; one that is repeated still fits into the time of a request."""


@dataclass(frozen=True, slots=True)
class DirectCallRequest:
    """What a developer asks for. is_agreed: that it is done, also where a turn would ask a person first."""

    name: str
    arguments: JsonObject
    is_agreed: bool


@dataclass(frozen=True, slots=True)
class DirectCall:
    """What a call came to.

    state       asks: a turn would ask a person first, and nothing was done.
    result      what a model would read; None for `asks`.
    approver    who a turn would ask: "user", or members with that role; "" where it would not ask.
    latency_ms  of the call.
    """

    state: EndState | Literal["asks"]
    result: ToolResult | None
    approver: str
    latency_ms: int


class _OutcomeRecorder:
    """Where the call's outcome is kept: a direct call is never resumed, so nothing is stored."""

    state: EndState = "failed"

    def begin(self) -> None:
        """Do nothing."""

    def end(self, state: EndState, result: ToolResult, /) -> None:
        """Keep the state; the result is returned."""
        del result
        self.state = state


def call_tool_directly(
    principal: Principal, database: Database, requested: DirectCallRequest, endpoints: Endpoints, now: datetime
) -> DirectCall:
    """Call a tool of the tenant's own once. Each call is audited, without its arguments.

    NotFound: the tenant has no such tool. InvalidRequest: it is built in, and needs a conversation.
    """
    call_id = uuid7(now)
    tool, policies = database.run(principal, lambda tx: _load(tx, requested.name))
    asks = any(policy.asks_first(needs_approval, tool, requested.arguments) for needs_approval in policies)
    approver = tool.approver if asks else ""
    if asks and not requested.is_agreed:
        return DirectCall("asks", None, approver, 0)
    database.run(
        principal, lambda tx: audit.add_entry(principal, tx, "tool.called", f"tool:{tool.name}", {}, now, call_id)
    )
    context = ToolContext(
        principal=principal,
        database=database,
        session_id=call_id,
        turn_id=call_id,
        now=now,
        fencing_token=0,
        idempotency_key=f"direct:{call_id}",
        seconds_left=lambda: _MAX_SECONDS,
    )
    recorder, started = _OutcomeRecorder(), time.monotonic()
    result = effects.perform_effect(context, tool, requested.arguments, "reserved", endpoints, recorder)
    return DirectCall(recorder.state, result, approver, round((time.monotonic() - started) * 1000))


def _load(tx: Transaction, name: str) -> tuple[Tool, list[Json]]:
    """Return the tool and its approval policies in turns: its own, and those of the bindings that have it."""
    found = registry.load_tools(tx, [name])
    if not found:
        raise NotFound(f"there is no tool {name} in the applied pack; is it in tools/ or in functions/, and applied?")
    if found[0].endpoint.startswith(BUILTIN_SCHEME):
        raise InvalidRequest(f"{name} is built in and works inside a conversation; try it with parlour chat")
    personas = [bindings.load_persona(tx, binding.id) for binding in bindings.list_active_bindings(tx)]
    having = [persona.binding.needs_approval for persona in personas if persona and name in persona.agent.tools]
    return found[0], [found[0].needs_approval, *having]
