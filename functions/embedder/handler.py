"""Embeds context rows and messages."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.embedder import build_embedder
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Embed what the tenants named by the messages have without a vector."""
    return process_batch(event, context, build_embedder, build_change_visibility())
