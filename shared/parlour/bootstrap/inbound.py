"""The webhook's door: no database, no model."""

import functools
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.channels.accept import Accepted, Webhook, WebhookTokens, accept
from parlour.infra.settings import InboundSettings, load


@functools.cache
def build_inbound() -> Callable[[Webhook], Accepted]:
    """Webhook to verified envelopes on the intake queue."""
    settings = load(InboundSettings)
    secrets = clients.secrets()
    intake = clients.queue(settings.intake_queue_url)

    def inbound(webhook: Webhook) -> Accepted:
        tokens = WebhookTokens.parse(secrets.get(settings.webhook_secret))
        return accept(webhook, tokens, intake, datetime.now(UTC))

    return inbound
