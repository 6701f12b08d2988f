"""Intake queue to stored message to turn queue."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.receiver import build_receiver
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Store each envelope of the batch; answer which ones are to be delivered again."""
    return process_batch(event, context, build_receiver, build_change_visibility(), is_renewed=True)
