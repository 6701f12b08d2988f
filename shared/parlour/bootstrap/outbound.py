"""Outbox queue to the channel provider."""

import functools
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.channels import gupshup_api, outbox
from parlour.channels.send import send
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import OutboundSettings, load
from parlour.principal import system


@functools.cache
def build_outbound() -> Work[JsonObject]:
    """One outbox row sent, or settled."""
    settings = load(OutboundSettings)
    secrets = clients.secrets()
    store = database(settings, secrets)
    provider = gupshup_api.GupshupProvider(gupshup_api.connect(), settings.gupshup_base_url, secrets)

    def outbound(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        tenant_id, outbox_id = outbox.read_wake(body)
        send(system(tenant_id), store, provider, outbox_id, datetime.now(UTC))

    return limited(store, settings, outbound)
