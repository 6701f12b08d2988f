"""Heavy tool calls, off the turn's path."""

from typing import Any

from parlour.bootstrap.clients import build_hasten
from parlour.bootstrap.tool_dispatcher import build_tool_dispatcher
from parlour.infra.batch import process


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Run the call; its result resumes the conversation as a new turn."""
    return process(event, context, build_tool_dispatcher(), build_hasten())
