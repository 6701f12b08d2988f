"""Conversations to what is remembered of them."""

import functools
import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.bootstrap.model_providers import make_providers
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import MemoryExtractorSettings, load_settings
from parlour.memory.archive import archive_job
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import consolidation_job, extraction_job
from parlour.memory.memory_job import MemoryJob, MemoryJobKind
from parlour.memory.summaries import summary_job

type _RunJob = Callable[[MemoryDependencies, MemoryJob, SecondsLeft], None]


@functools.cache
def build_memory_extractor() -> MessageHandler[JsonObject]:
    """One order, by its kind."""
    settings = load_settings(MemoryExtractorSettings)
    secrets = clients.make_secret_store()
    store = make_database(settings, secrets)
    services = MemoryDependencies(
        database=store,
        models=lambda: make_providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        ),
        default_cap=settings.daily_cap_usd,
        memory_queue=clients.make_delayed_queue(settings.memory_queue_url),
        embedder_queue=clients.make_delayed_queue(settings.embedding_queue_url),
        clock=lambda: datetime.now(UTC),
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )

    media = clients.make_object_store(settings.media_bucket)

    def run_job(body: JsonObject, seconds_left: SecondsLeft) -> None:
        order = MemoryJob.from_json(body)
        if order.kind == "archive":
            archive_job.run_archive(services, media, order, seconds_left)
        else:
            _JOBS[order.kind](services, order, seconds_left)

    return with_time_limit(store, settings, run_job)


_JOBS: Mapping[MemoryJobKind, _RunJob] = {
    "extraction": extraction_job.run_extraction,
    "summary": summary_job.run_summary,
    "consolidation": consolidation_job.run_consolidation,
}
