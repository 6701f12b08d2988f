"""A call of one tool by its developer, without a model."""

from typing import Literal

from fastapi import APIRouter
from pydantic import Field, JsonValue

from parlour.api.authorization import Admin
from parlour.api.schemas import RequestModel, ResponseModel
from parlour.conversations.direct_calls import DirectCallRequest, call_tool_directly
from parlour.infra.errors import Conflict

router = APIRouter(prefix="/v1/tools", tags=["configuration"])

_NOT_HERE = (
    "tools are tried on a laptop (`make run`): the API of this deployment reads no secrets of tools and calls none. "
    "Ask the agent for it in the Playground, and read why it failed with parlour turn"
)


class ToolCallRequest(RequestModel):
    """arguments: as the tool's schema says. agreed: do it also where a turn would ask a person first."""

    arguments: dict[str, JsonValue]
    agreed: bool = False


class DirectCallView(ResponseModel):
    """How the call ended.

    state       asks: a turn would ask `approver` first, and nothing was done; unknown: it may have been done.
    result      what a model would read of it; null for `asks`.
    detail      of a failed call: status and excerpt of the answer, or error, file and line of the tool's code.
    approver    who a turn would ask: user, viewer, editor or admin; "" where it would not ask.
    latency_ms  milliseconds.
    """

    state: Literal["done", "failed", "unknown", "asks"]
    result: dict[str, JsonValue] | None
    detail: str
    approver: str
    latency_ms: int = Field(ge=0)


@router.post("/{name}/calls")
def call_tool(name: str, body: ToolCallRequest, caller: Admin) -> DirectCallView:
    """Call a tool of the pack once, with the checks of a turn and without a model. On a laptop only."""
    endpoints = caller.dependencies.tool_endpoints
    if not endpoints:
        raise Conflict(_NOT_HERE)
    requested = DirectCallRequest(name, body.arguments, body.agreed)
    with caller.dependencies.databases.borrow() as database:
        done = call_tool_directly(caller.principal, database, requested, endpoints, caller.now)
    return DirectCallView(
        state=done.state,
        result=done.result.content if done.result else None,
        detail=done.result.detail if done.result else "",
        approver=done.approver,
        latency_ms=done.latency_ms,
    )
