"""An agent loop of a pack as a provider: each step of a turn is one stretch of the loop, run by the pack's function.

The loop's own model calls are its own. Only the tokens that it reports are known here, so their price is unknown.
"""

import re
from collections.abc import Callable, Generator, Iterator

from parlour.infra.errors import ProviderRejected, ProviderUnavailable
from parlour.infra.functions import FunctionFailed, FunctionNotCalled, FunctionTimedOut, PackFunctions
from parlour.infra.json_values import Json, JsonObject
from parlour.models.model import (
    Completion,
    ModelRequest,
    StreamPart,
    TextDelta,
    TokenUsage,
    content_blocks,
    object_items,
)
from parlour.models.model_routing import FUNCTION_PROVIDER
from parlour.models.stream_timeouts import StreamTimeouts, stream_within

_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


class FunctionModel:
    """The agents that a tenant's pack defines; `request.model` is `module.name`."""

    provider = FUNCTION_PROVIDER

    def __init__(self, functions: PackFunctions, find_tenant: Callable[[], str]) -> None:
        """`find_tenant` returns the tenant's slug; it is called when the agent is asked."""
        self._functions = functions
        self._find_tenant = find_tenant

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """Yield the stretch's text and its calls; raises as `Model`. A stretch that nobody waits for ends by itself."""
        tenant = self._find_tenant()
        allowed = StreamTimeouts(seconds_left, seconds_left)
        return stream_within(allowed, lambda: self._run_loop(tenant, request, seconds_left), lambda _part: True)

    def _run_loop(self, tenant: str, request: ModelRequest, seconds: float) -> Generator[StreamPart]:
        agent_request: JsonObject = {
            "system": "\n\n".join(str(block["text"]) for block in request.system),
            "messages": [*request.messages],
            "tools": [*request.tools] if request.tool_choice == "auto" else [],
        }
        event: JsonObject = {"kind": "agent", "function": request.model, "request": agent_request}
        try:
            answer = self._functions.invoke(tenant, event, seconds)
        except (FunctionTimedOut, FunctionFailed) as error:
            raise ProviderUnavailable(f"the agent {request.model} failed: {type(error).__name__}") from error
        except FunctionNotCalled as error:
            raise ProviderRejected("the pack's function cannot be called; run `parlour functions deploy`") from error
        reply = answer.get("result")
        if not isinstance(reply, dict):
            raise ProviderUnavailable(f"the agent {request.model} gave no reply")
        blocks = [block for message in request.messages for block in content_blocks(message)]
        earlier_calls = sum(block.get("type") == "tool_use" for block in blocks)
        yield from _read_reply(reply, earlier_calls)


def _read_reply(reply: JsonObject, earlier_calls: int) -> Iterator[StreamPart]:
    text = str(reply.get("text") or "")
    blocks: list[JsonObject] = []
    if text:
        yield TextDelta(text)
        blocks.append({"type": "text", "text": text})
    calls = object_items(reply.get("calls"))
    for number, call in enumerate(calls, start=earlier_calls + 1):
        given = call.get("id")
        call_id = given if isinstance(given, str) and _CALL_ID.fullmatch(given) else f"call_{number}"
        blocks.append(
            {
                "type": "tool_use",
                "id": call_id,
                "name": str(call.get("name")),
                "input": call.get("arguments") or {},
            }
        )
    usage = TokenUsage(_count(reply.get("input_tokens")), _count(reply.get("output_tokens")))
    yield Completion(tuple(blocks), "tool_use" if calls else "end_turn", usage)


def _count(value: Json) -> int:
    return value if isinstance(value, int) and value > 0 else 0
