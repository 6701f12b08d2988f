"""Heavy tool calls, off the turn's path."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.tool_dispatcher import build_tool_dispatcher
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Run the call; its result resumes the conversation as a new turn."""
    return process_batch(event, context, build_tool_dispatcher, build_change_visibility(), is_renewed=True)
