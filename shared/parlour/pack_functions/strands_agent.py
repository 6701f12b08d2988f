"""A Strands agent as the agent of a pack. The package is the builder's own; Parlour does not bring it."""

import base64
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from parlour.pack_functions.agent import (
    AgentReply,
    AgentRequest,
    FunctionAgent,
    RequestedCall,
    blocks_of,
    result_text,
)


def from_strands(make_agent: Callable[..., Any]) -> FunctionAgent:
    """Return an agent whose stretches a `strands.Agent` runs.

    `make_agent` receives the arguments `messages`, `tools`, `system_prompt` and `callback_handler` of `strands.Agent`
    and returns a new agent: `from_strands(lambda **given: Agent(model=..., **given))`.
    """

    def run(request: AgentRequest) -> AgentReply:
        requested: list[RequestedCall] = []
        made = make_agent(
            messages=[_convert_message(one) for one in request.messages],
            tools=[_make_tool(one, requested) for one in request.tools],
            system_prompt=request.system,
            callback_handler=None,
        )
        done = made(None)
        used = done.metrics.accumulated_usage
        usage = {"input_tokens": used["inputTokens"], "output_tokens": used["outputTokens"]}
        return AgentReply(calls=requested, **usage) if requested else AgentReply(str(done).strip(), **usage)

    return FunctionAgent(run)


def _make_tool(definition: Mapping[str, Any], requested: list[RequestedCall]) -> Any:
    """Return a tool that notes its call and ends the loop: Parlour runs the call."""
    from strands.types.tools import AgentTool  # noqa: PLC0415

    class RequestingTool(AgentTool):  # type: ignore[misc]  # the package is not installed here
        """A tool of Parlour's."""

        @property
        def tool_name(self) -> str:
            """Return the name."""
            return str(definition["name"])

        @property
        def tool_spec(self) -> Any:
            """Return what the model reads."""
            schema = {"json": definition["input_schema"]}
            return {"name": self.tool_name, "description": definition["description"], "inputSchema": schema}

        @property
        def tool_type(self) -> str:
            """Return the kind."""
            return "parlour"

        async def stream(self, tool_use: Any, invocation_state: dict[str, Any], **_: Any) -> AsyncIterator[Any]:
            """Note the call; the result is a placeholder that nobody reads."""
            requested.append(RequestedCall(self.tool_name, tool_use["input"], tool_use["toolUseId"]))
            invocation_state.setdefault("request_state", {})["stop_event_loop"] = True
            yield {"toolUseId": tool_use["toolUseId"], "status": "success", "content": [{"text": "requested"}]}

    return RequestingTool()


def _convert_message(message: Mapping[str, Any]) -> dict[str, Any]:
    content = [_convert_block(block) for block in blocks_of(message)]
    return {"role": message["role"], "content": [block for block in content if block]}


def _convert_block(block: Mapping[str, Any]) -> dict[str, Any]:
    match block["type"]:
        case "text":
            return {"text": block["text"]}
        case "tool_use":
            return {"toolUse": {"toolUseId": block["id"], "name": block["name"], "input": block["input"]}}
        case "tool_result":
            status = "error" if block.get("is_error") else "success"
            content = [{"text": result_text(block)}]
            return {"toolResult": {"toolUseId": block["tool_use_id"], "status": status, "content": content}}
        case "image":
            source = block["source"]
            kind = source["media_type"].partition("/")[2]
            return {"image": {"format": kind, "source": {"bytes": base64.b64decode(source["data"])}}}
        case _:
            return {}
