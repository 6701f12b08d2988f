"""Replies and notifications out of the outbox, and the bounces that SES reports of notifications."""

from typing import Any

from parlour.bootstrap.clients import build_change_visibility
from parlour.bootstrap.outbound import build_bounces, build_outbound
from parlour.jobs.batches import process_batch


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    """Send each reply of the batch; answer which ones are to be delivered again. A topic's event is of bounces."""
    if "Sns" in event["Records"][0]:
        build_bounces()(event)
        return {}
    return process_batch(event, context, build_outbound, build_change_visibility(), is_renewed=True)
