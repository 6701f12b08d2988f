"""Conversations to what is remembered of them."""

import functools
import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.providers import providers
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import MemoryExtractorSettings, load
from parlour.memory.archiving import archive
from parlour.memory.consolidating import consolidator
from parlour.memory.extracting import extractor
from parlour.memory.order import Kind, Order
from parlour.memory.services import Services
from parlour.memory.summary import writer

type _Run = Callable[[Services, Order, SecondsLeft], None]


@functools.cache
def build_memory_extractor() -> Work[JsonObject]:
    """One order, by its kind."""
    settings = load(MemoryExtractorSettings)
    secrets = clients.secrets()
    store = database(settings, secrets)
    services = Services(
        database=store,
        models=lambda: providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        ),
        default_cap=settings.daily_cap_usd,
        memory=clients.delays(settings.memory_queue_url),
        embedding=clients.delays(settings.embedding_queue_url),
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )

    media = clients.objects(settings.media_bucket)

    def remembering(body: JsonObject, seconds_left: SecondsLeft) -> None:
        order = Order.from_json(body)
        if order.kind == "archive":
            archive.run(services, media, order, seconds_left)
        else:
            _WORK[order.kind](services, order, seconds_left)

    return limited(store, settings, remembering)


_WORK: Mapping[Kind, _Run] = {"memory": extractor.run, "summary": writer.run, "consolidation": consolidator.run}
