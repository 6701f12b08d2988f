"""Rows to vectors."""

import functools
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.bootstrap.embedding_models import make_embedding_spaces
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import EmbedderSettings, load_settings
from parlour.pulse.due.wakeups import parse_wakeup, schedule_wakeup
from parlour.records.backfill import run_backfill
from parlour.search.index import embedding_job
from parlour.search.index.embedding_job import EmbeddingDependencies


@functools.cache
def build_embedder() -> MessageHandler[JsonObject]:
    """One nudge: everything that its tenant has without a vector, as far as the time allows."""
    settings = load_settings(EmbedderSettings)
    secrets = clients.make_secret_store()
    services = EmbeddingDependencies(
        database=make_database(settings, secrets),
        spaces=make_embedding_spaces(settings, secrets),
        embedder_queue=clients.make_delayed_queue(settings.embedding_queue_url),
        backfill=run_backfill,
        default_cap=settings.daily_cap_usd,
        clock=lambda: datetime.now(UTC),
    )

    wakeups = clients.make_delayed_queue(settings.pulse_wakeups_queue_url)

    def embedding(body: JsonObject, seconds_left: SecondsLeft) -> None:
        embedding_job.embed_tenant(services, embedding_job.parse_message(body), seconds_left)
        if settings.database_idle:  # what was written made Pulses stale, too, and no schedule looks soon
            schedule_wakeup(services.database, wakeups, parse_wakeup(body), services.clock())

    return with_time_limit(services.database, settings, embedding)
