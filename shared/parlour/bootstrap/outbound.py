"""Outbox queue to the channel provider."""

import functools
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.channels import outbox, provider_http
from parlour.channels.gupshup_api import GupshupProvider
from parlour.channels.send import Providers, send_reply
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import OutboundSettings, load_settings
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from parlour.principal import system_principal


@functools.cache
def build_outbound() -> MessageHandler[JsonObject]:
    """One outbox row sent, or settled."""
    settings = load_settings(OutboundSettings)
    secrets = clients.make_secret_store()
    store = make_database(settings, secrets)
    client, wakeups = provider_http.new_client(), clients.make_delayed_queue(settings.wakeups_queue_url)
    providers: Providers = {
        "gupshup": GupshupProvider(client, settings.gupshup_base_url, secrets),
        "whatsapp_cloud": WhatsAppCloudProvider(client, settings.whatsapp_base_url, secrets),
    }

    def outbound(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        tenant_id, outbox_id = outbox.parse_wakeup(body)
        now = datetime.now(UTC)
        sent = send_reply(system_principal(tenant_id), store, providers, outbox_id, uuid7(now), now)
        if sent.retry_at:
            work_due.send_wakeup(wakeups, DueWork(tenant_id, "outbox", outbox_id, sent.retry_at), now)

    return with_time_limit(store, settings, outbound)
