"""Replies out of the outbox, to the provider of their channel."""

from typing import Any

from parlour.bootstrap.clients import build_shorten_visibility
from parlour.bootstrap.outbound import build_outbound
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Send each reply of the batch; answer which ones are to be delivered again."""
    return process_batch(event, context, build_outbound(), build_shorten_visibility())
