"""Intake queue to stored message to turn queue."""

import functools
from datetime import UTC, datetime
from uuid import UUID

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.channels import intake_messages, provider_http
from parlour.channels.envelope import Envelope
from parlour.channels.media import MediaFetcher
from parlour.conversations import inbound_messages
from parlour.conversations.inbound_messages import receive_envelope
from parlour.infra.errors import AccessRefused
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import ReceiverSettings, load_settings
from parlour.principal import Principal


@functools.cache
def build_receiver() -> MessageHandler[JsonObject]:
    """One envelope stored, its session woken; or many statuses applied."""
    settings = load_settings(ReceiverSettings)
    secrets = clients.make_secret_store()
    store = make_database(settings, secrets)
    media = MediaFetcher(
        provider_http.new_client(),
        clients.make_object_store(settings.media_bucket),
        secrets,
        settings.whatsapp_base_url,
    )
    waiting = clients.make_fifo_queue(settings.intake_queue_url)
    outbox = clients.make_checked_queue(settings.outbox_queue_url, settings.wakeups_queue_url)
    wakeups = clients.make_delayed_queue(settings.wakeups_queue_url)
    turns = {
        "whatsapp": clients.make_checked_queue(settings.turns_messaging_queue_url, settings.wakeups_queue_url),
        "web": clients.make_checked_queue(settings.turns_web_queue_url, settings.wakeups_queue_url),
    }

    def receiver(body: JsonObject, seconds_left: SecondsLeft) -> None:
        if settings.unbound_webhook_secrets == "refuse" and intake_messages.needs_bound_secret(body):
            inbound_messages.require_single_tenant(store)
        for envelope in intake_messages.unpack_envelopes(body):
            one(envelope, seconds_left, is_apart=intake_messages.is_file_retry(body))

    def one(envelope: Envelope, seconds_left: SecondsLeft, *, is_apart: bool) -> None:
        now = datetime.now(UTC)

        def keep_file(principal: Principal, message_id: UUID) -> None:
            try:
                media.fetch_and_store(principal, store, message_id, seconds_left, now)
            except AccessRefused:
                if is_apart:
                    raise
                waiting.send([intake_messages.file_retry_message(envelope)])

        receive_envelope(store, turns, wakeups, envelope, now, keep_file, lambda rest: outbox.send([rest]))

    return with_time_limit(store, settings, receiver)
