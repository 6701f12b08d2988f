"""A provider's webhook, verified and onto the intake queue. No database and no model on this path."""

from typing import Any

from parlour.bootstrap.inbound import build_inbound
from parlour.channels.webhooks import WebhookRequest, WebhookResponse, serve_api_gateway_event


def handler(event: dict[str, Any], _context: object) -> dict[str, Any]:
    """Answer an API Gateway proxy event; a failed start is answered like any other error."""
    return serve_api_gateway_event(event, _accept_webhook)


def _accept_webhook(webhook: WebhookRequest) -> WebhookResponse:
    return build_inbound()(webhook)
