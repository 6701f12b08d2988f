"""Turn queues to one turn to the outbox."""

import functools
import random
import time
from dataclasses import replace
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.embedding import spaces
from parlour.bootstrap.providers import preload as preload_providers
from parlour.bootstrap.providers import providers
from parlour.bootstrap.tools import endpoints
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import OrchestratorSettings, load
from parlour.models.pictures import Pictures
from parlour.turns.receive import Wake
from parlour.turns.run import run
from parlour.turns.running import Services


def preload() -> None:
    """What the first turn needs, before a snapshot."""
    preload_providers()


@functools.cache
def build_orchestrator() -> Work[JsonObject]:
    """One wake-up: the session's turn, within the seconds that are left."""
    settings = load(OrchestratorSettings)
    secrets = clients.secrets()
    services = Services(
        database=database(settings, secrets),
        models={},
        endpoints=endpoints(settings, secrets),
        outbox=clients.queue(settings.outbox_queue_url),
        tools=clients.queue(settings.tools_queue_url),
        embedding=clients.delays(settings.embedding_queue_url),
        memory=clients.delays(settings.memory_queue_url),
        embedder=spaces(settings, secrets).embedder,
        default_cap=settings.daily_cap_usd,
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
        pictures=Pictures(functools.cache(lambda: clients.objects(settings.media_bucket))),
    )

    def orchestrator(body: JsonObject, seconds_left: SecondsLeft) -> None:
        models = providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        )
        run(replace(services, models=models), Wake.from_json(body), seconds_left)

    return limited(services.database, settings, orchestrator)
