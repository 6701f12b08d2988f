"""What is to be remembered: of a session's newest turns, of its older ones, of a silent one, of old messages."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.memory_extractor import build_memory_extractor
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Do what the orders ask for."""
    return process_batch(event, context, build_memory_extractor, build_change_visibility())
