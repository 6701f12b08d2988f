"""Rows to vectors."""

import functools
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.embedding import spaces
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import EmbedderSettings, load
from parlour.knowledge.index import embedder
from parlour.knowledge.index.embedder import Services
from parlour.knowledge.records.backfill import backfill
from parlour.pulse.due.wakeups import read_wakeup, wake_later


@functools.cache
def build_embedder() -> Work[JsonObject]:
    """One nudge: everything that its tenant has without a vector, as far as the time allows."""
    settings = load(EmbedderSettings)
    secrets = clients.secrets()
    services = Services(
        database=database(settings, secrets),
        spaces=spaces(settings, secrets),
        embedding=clients.delays(settings.embedding_queue_url),
        backfill=backfill,
        default_cap=settings.daily_cap_usd,
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
    )

    wakeups = clients.delays(settings.pulse_wakeups_queue_url)

    def embedding(body: JsonObject, seconds_left: SecondsLeft) -> None:
        embedder.run(services, embedder.read_message(body), seconds_left)
        if settings.database_idle:  # what was written made Pulses stale, too, and no schedule looks soon
            wake_later(services.database, wakeups, read_wakeup(body), services.clock())

    return limited(services.database, settings, embedding)
