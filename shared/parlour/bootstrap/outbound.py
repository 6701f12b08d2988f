"""Outbox queue to the channel provider, and to the people and systems that are notified."""

import functools
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

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
from parlour.notifications import bounces, delivery_job
from parlour.notifications.chatwoot import ChatwootSender
from parlour.notifications.delivery_job import Sender
from parlour.notifications.email import NoEmail, SesSender, SmtpSender
from parlour.notifications.event import Medium
from parlour.notifications.receiver import Receivers
from parlour.notifications.webhook import WebhookSender
from parlour.principal import system_principal
from parlour.tools.addresses import PrivateHosts
from parlour.tools.http_endpoint import HttpEndpoint


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

    endpoint = HttpEndpoint(secrets, PrivateHosts.parse(settings.private_tool_hosts))
    receivers = Receivers(endpoint, secrets, store, lambda: datetime.now(UTC))
    senders: Mapping[Medium, Sender] = {
        "email": _email_sender(settings),
        "webhook": WebhookSender(receivers, settings.public_url),
        "chatwoot": ChatwootSender(receivers, settings.public_url),
    }

    def outbound(body: JsonObject, seconds_left: SecondsLeft) -> None:
        if "notification_id" in body:
            now = datetime.now(UTC)
            delivery_job.deliver(
                body, store, senders, lambda work: work_due.send_wakeup(wakeups, work, now), now, seconds_left
            )
            return
        tenant_id, outbox_id = outbox.parse_wakeup(body)
        now = datetime.now(UTC)
        sent = send_reply(system_principal(tenant_id), store, providers, outbox_id, uuid7(now), now, seconds_left)
        if sent.retry_at:
            work_due.send_wakeup(wakeups, DueWork(tenant_id, "outbox", outbox_id, sent.retry_at), now)
        if sent.state == "held" and (
            session_id := store.run(tenant_id, lambda tx: outbox.find_session_id(tx, outbox_id))
        ):
            work_due.send_wakeup(wakeups, DueWork(tenant_id, "inbox", session_id, now), now)

    return with_time_limit(store, settings, outbound)


@functools.cache
def build_bounces() -> Callable[[Mapping[str, Any]], None]:
    """Return what records the bounces of one event of SES's topic."""
    settings = load_settings(OutboundSettings)
    store = make_database(settings, clients.make_secret_store())

    def record(event: Mapping[str, Any]) -> None:
        try:
            bounces.record_bounces(event, store, datetime.now(UTC))
        finally:
            if settings.database_idle:
                store.close()

    return record


def _email_sender(settings: OutboundSettings) -> Sender:
    if not settings.mail_from:
        return NoEmail()
    if settings.smtp_url:
        return SmtpSender(settings.smtp_url, settings.mail_from, settings.public_url)
    return SesSender(
        clients.make_mail_client(), settings.mail_from, settings.public_url, settings.mail_configuration_set
    )
