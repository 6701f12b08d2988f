"""A Pydantic AI agent as the agent of a pack. The package is the builder's own; Parlour does not bring it."""

import base64
import functools
from collections.abc import Callable, Mapping
from typing import Any

from parlour.pack_functions.agent import (
    AgentReply,
    AgentRequest,
    FunctionAgent,
    RequestedCall,
    blocks_of,
    names_of_calls,
    result_text,
)


def from_pydantic_ai(make_agent: Callable[[], Any]) -> FunctionAgent:
    """Return an agent whose stretches the `pydantic_ai.Agent` runs that `make_agent` returns, made once.

    It sees Parlour's tools beside its own. Its output is text. Its own tools run inside a stretch and may run again
    after a crash: give what must happen once to Parlour, as a tool.
    """
    made = functools.cache(make_agent)

    def run(request: AgentRequest) -> AgentReply:
        from pydantic_ai import DeferredToolRequests, ToolDefinition  # noqa: PLC0415
        from pydantic_ai.toolsets import ExternalToolset  # noqa: PLC0415

        tools = [
            ToolDefinition(
                name=one["name"], description=one["description"], parameters_json_schema=dict(one["input_schema"])
            )
            for one in request.tools
        ]
        names = names_of_calls(request.messages)
        done = made().run_sync(
            None,
            instructions=request.system,
            message_history=[_convert_message(one, names) for one in request.messages],
            toolsets=[ExternalToolset(tools)],
            output_type=[str, DeferredToolRequests],
        )
        usage = {"input_tokens": done.usage.input_tokens, "output_tokens": done.usage.output_tokens}
        if isinstance(done.output, DeferredToolRequests):
            calls = [RequestedCall(one.tool_name, one.args_as_dict(), one.tool_call_id) for one in done.output.calls]
            return AgentReply(calls=calls, **usage)
        return AgentReply(done.output, **usage)

    return FunctionAgent(run)


def _convert_message(message: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    from pydantic_ai import messages as theirs  # noqa: PLC0415

    blocks = blocks_of(message)
    if message["role"] == "assistant":
        return theirs.ModelResponse(
            parts=[
                theirs.ToolCallPart(block["name"], dict(block["input"]), tool_call_id=block["id"])
                if block["type"] == "tool_use"
                else theirs.TextPart(block["text"])
                for block in blocks
                if block["type"] in {"tool_use", "text"}
            ]
        )
    results = [
        theirs.ToolReturnPart(
            names.get(block["tool_use_id"], ""), result_text(block), tool_call_id=block["tool_use_id"]
        )
        for block in blocks
        if block["type"] == "tool_result"
    ]
    content = [
        block["text"]
        if block["type"] == "text"
        else theirs.BinaryContent(base64.b64decode(block["source"]["data"]), media_type=block["source"]["media_type"])
        for block in blocks
        if block["type"] in {"text", "image"}
    ]
    return theirs.ModelRequest(parts=[*results, *([theirs.UserPromptPart(content)] if content else [])])
