"""The `@agent` decorator: an agent loop of the builder's own answers a turn, one stretch at a time.

A stretch ends with a reply, or with calls of Parlour's tools. Parlour commits the calls, runs them as effects, and
starts the next stretch with their results. So the loop keeps no state, and a stopped process repeats no effect.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """What Parlour assembled for one stretch.

    system    the system prompt.
    messages  role and content blocks (text, image, tool_use, tool_result), oldest first.
    tools     definitions: name, description, input_schema.
    """

    system: str
    messages: Sequence[Mapping[str, Any]]
    tools: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RequestedCall:
    """A call of one of Parlour's tools; without an id it gets one."""

    name: str
    arguments: Mapping[str, Any]
    id: str = ""


@dataclass(frozen=True, slots=True)
class AgentReply:
    """How a stretch ended: with `calls`, or with the reply.

    input_tokens, output_tokens  what the loop's own model calls took, if it knows.
    """

    text: str = ""
    calls: Sequence[RequestedCall] = ()
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class FunctionAgent:
    """A function that runs one stretch."""

    run: Callable[[AgentRequest], AgentReply]

    def __call__(self, request: AgentRequest) -> AgentReply:
        """Run one stretch."""
        return self.run(request)


def agent(function: Callable[[AgentRequest], AgentReply]) -> FunctionAgent:
    """Make an agent of a function: `model_routing.default` names it with the provider `function`."""
    return FunctionAgent(function)


def blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a message's content as blocks; a plain text is one block."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def result_text(block: Mapping[str, Any]) -> str:
    """Return the text of a tool result."""
    content = block.get("content", "")
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def names_of_calls(messages: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the tools' names by the ids of their calls."""
    blocks = [block for message in messages for block in blocks_of(message)]
    return {block["id"]: block["name"] for block in blocks if block["type"] == "tool_use"}
