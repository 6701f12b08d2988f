"""Uploaded files to searchable rows."""

import functools
import random
import time
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.providers import providers
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import IngestSettings, load
from parlour.knowledge.files.distil import Distiller
from parlour.knowledge.files.extract.run import extract
from parlour.knowledge.files.ingest import Services, ingest, read_message


def _now() -> datetime:
    return datetime.now(UTC)


@functools.cache
def build_ingest() -> Work[JsonObject]:
    """One version of one file: read, summed up, made searchable."""
    settings = load(IngestSettings)
    secrets = clients.secrets()
    store = database(settings, secrets)
    distiller = Distiller(
        database=store,
        models=lambda: providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        ),
        default_cap=settings.daily_cap_usd,
        clock=_now,
        new_id=uuid7,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )
    services = Services(
        database=store,
        uploads=clients.uploads(settings.files_bucket),
        extract=extract,
        distiller=distiller,
        embedding=clients.delays(settings.embedding_queue_url),
        clock=_now,
        new_id=uuid7,
        sleep=time.sleep,
    )

    def ingesting(body: JsonObject, seconds_left: SecondsLeft) -> None:
        ingest(services, read_message(body), seconds_left)

    return limited(store, settings, ingesting)
