"""The webhook's door: no database, no model."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.channels.webhooks import WebhookRequest, WebhookResponse, WebhookSecrets, accept_webhook
from parlour.infra.settings import InboundSettings, load_settings


@functools.cache
def build_inbound() -> Callable[[WebhookRequest], WebhookResponse]:
    """Webhook to verified envelopes on the intake queue."""
    settings = load_settings(InboundSettings)
    secrets = clients.make_secret_store()
    intake = clients.make_fifo_queue(settings.intake_queue_url)

    def inbound(webhook: WebhookRequest) -> WebhookResponse:
        tokens = WebhookSecrets.parse(secrets.get(settings.webhook_secret))
        return accept_webhook(webhook, tokens, intake, datetime.now(UTC))

    return inbound
