"""Intake queue to stored message to turn queue."""

import functools
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.channels.envelope import Envelope
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import ReceiverSettings, load
from parlour.turns.receive import receive


@functools.cache
def build_receiver() -> Work[JsonObject]:
    """One envelope stored, its session woken."""
    settings = load(ReceiverSettings)
    store = database(settings, clients.secrets())
    turns = {
        "whatsapp": clients.queue(settings.turns_messaging_queue_url),
        "web": clients.queue(settings.turns_web_queue_url),
    }

    def receiver(body: JsonObject, _seconds_left: SecondsLeft) -> None:
        envelope = Envelope.from_json(body)
        receive(store, turns[envelope.channel], envelope, datetime.now(UTC), uuid7)

    return limited(store, settings, receiver)
