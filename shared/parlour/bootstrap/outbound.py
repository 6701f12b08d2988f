"""Outbox queue to the channel provider."""

import functools
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.channels import outbox, wire
from parlour.channels.gupshup_api import GupshupProvider
from parlour.channels.send import Providers, send
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import OutboundSettings, load
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from parlour.principal import system


@functools.cache
def build_outbound() -> Work[JsonObject]:
    """One outbox row sent, or settled."""
    settings = load(OutboundSettings)
    secrets = clients.secrets()
    store = database(settings, secrets)
    client, wakeups = wire.connect(), clients.delays(settings.wakeups_queue_url)
    providers: Providers = {
        "gupshup": GupshupProvider(client, settings.gupshup_base_url, secrets),
        "whatsapp_cloud": WhatsAppCloudProvider(client, settings.whatsapp_base_url, secrets),
    }

    def outbound(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        tenant_id, outbox_id = outbox.read_wake(body)
        now = datetime.now(UTC)
        sent = send(system(tenant_id), store, providers, outbox_id, uuid7(now), now)
        if sent.again:
            work_due.send_wakeup(wakeups, DueWork(tenant_id, "outbox", outbox_id, sent.again), now)

    return limited(store, settings, outbound)
