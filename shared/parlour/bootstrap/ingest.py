"""Uploaded files to searchable rows."""

import functools
import random
import time
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.bootstrap.model_providers import make_providers
from parlour.files.file_reader import RemoteFileReader
from parlour.files.file_summary import FileSummariser
from parlour.files.ingestion import IngestDependencies, ingest, parse_message
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import IngestSettings, load_settings


def _now() -> datetime:
    return datetime.now(UTC)


@functools.cache
def build_ingest() -> MessageHandler[JsonObject]:
    """One version of one file: read, summed up, made searchable."""
    settings = load_settings(IngestSettings)
    secrets = clients.make_secret_store()
    store = make_database(settings, secrets)
    distiller = FileSummariser(
        database=store,
        models=lambda: make_providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        ),
        default_cap=settings.daily_cap_usd,
        clock=_now,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )
    uploads = clients.make_upload_store(settings.files_bucket)
    services = IngestDependencies(
        database=store,
        uploads=uploads,
        read_file=RemoteFileReader(clients.make_function(settings.file_reader_function), uploads),
        summariser=distiller,
        embedder_queue=clients.make_delayed_queue(settings.embedding_queue_url),
        clock=_now,
        sleep=time.sleep,
    )

    def ingesting(body: JsonObject, seconds_left: SecondsLeft) -> None:
        ingest(services, parse_message(body), seconds_left)

    return with_time_limit(store, settings, ingesting)
