"""Intake queue to stored message to turn queue."""

import functools
from datetime import UTC, datetime
from uuid import UUID

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.channels import intake, wire
from parlour.channels.envelope import Envelope
from parlour.channels.media import MediaKeeper
from parlour.infra.errors import AccessRefused
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import ReceiverSettings, load
from parlour.principal import Principal
from parlour.turns.receive import receive


@functools.cache
def build_receiver() -> Work[JsonObject]:
    """One envelope stored, its session woken; or many statuses applied."""
    settings = load(ReceiverSettings)
    secrets = clients.secrets()
    store = database(settings, secrets)
    media = MediaKeeper(wire.connect(), clients.objects(settings.media_bucket), secrets, settings.whatsapp_base_url)
    waiting = clients.queue(settings.intake_queue_url)
    outbox = clients.queue(settings.outbox_queue_url)
    turns = {
        "whatsapp": clients.queue(settings.turns_messaging_queue_url),
        "web": clients.queue(settings.turns_web_queue_url),
    }

    def receiver(body: JsonObject, seconds_left: SecondsLeft) -> None:
        for envelope in intake.unpack(body):
            one(envelope, seconds_left, is_apart=intake.is_apart(body))

    def one(envelope: Envelope, seconds_left: SecondsLeft, *, is_apart: bool) -> None:
        now = datetime.now(UTC)

        def keep_file(principal: Principal, message_id: UUID) -> None:
            try:
                media.keep(principal, store, message_id, seconds_left, now)
            except AccessRefused:
                if is_apart:
                    raise
                waiting.send([intake.apart(envelope)])

        receive(store, turns[envelope.channel], envelope, now, uuid7, keep_file, lambda rest: outbox.send([rest]))

    return limited(store, settings, receiver)
