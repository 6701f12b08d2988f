"""Turn queues to one turn to the outbox."""

import functools
import json
import random
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import Work, database, limited
from parlour.bootstrap.tools import endpoints
from parlour.infra.errors import Misconfigured
from parlour.infra.ids import uuid7
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import OrchestratorSettings, load
from parlour.models import anthropic, prices
from parlour.models.anthropic import AnthropicModel
from parlour.models.bedrock import BedrockClaude
from parlour.models.offline import OfflineModel
from parlour.models.request import Model
from parlour.turns.receive import Wake
from parlour.turns.run import run
from parlour.turns.running import Services


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
        default_cap=settings.daily_cap_usd,
        clock=lambda: datetime.now(UTC),
        new_id=uuid7,
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
    )

    def orchestrator(body: JsonObject, seconds_left: SecondsLeft) -> None:
        models = _models(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        )
        run(replace(services, models=models), Wake.from_json(body), seconds_left)

    return limited(services.database, settings, orchestrator)


def preload() -> None:
    """Import what the first model call needs: before a snapshot, or while the database answers."""
    anthropic.preload()
    prices.preload()


@functools.lru_cache(maxsize=1)
def _models(secret: str, base_url: str, *, with_bedrock: bool) -> Mapping[str, Model]:
    """The providers that have a key or need none, and the stand-in; built anew when the secret changes.

    What the first call needs is imported while the database answers.
    """
    try:
        key = json.loads(secret)["anthropic_api_key"]
    except (ValueError, KeyError, TypeError):
        raise Misconfigured('the model secret must be JSON: {"anthropic_api_key": "..."}') from None
    models: dict[str, Model] = {OfflineModel.provider: OfflineModel()}
    if with_bedrock:
        models[BedrockClaude.provider] = BedrockClaude(clients.bedrock_streaming())
    if key:
        models[AnthropicModel.provider] = AnthropicModel(key, base_url)
    if key or with_bedrock:
        threading.Thread(target=preload if key else prices.preload, daemon=True).start()
    return models
