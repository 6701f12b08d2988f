"""Turn queues to one turn to the outbox."""

import functools
import random
import time
from dataclasses import replace
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import MessageHandler, make_database, with_time_limit
from parlour.bootstrap.embedding_models import make_embedding_spaces
from parlour.bootstrap.model_providers import (
    add_demo_model,
    make_agent_loops,
    make_providers,
    read_demo_scenes,
)
from parlour.bootstrap.model_providers import preload as preload_providers
from parlour.bootstrap.tool_endpoints import make_endpoints
from parlour.channels import provider_http
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.turn_context import TurnDependencies
from parlour.conversations.turn_runner import run_session
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft
from parlour.infra.settings import OrchestratorSettings, load_settings
from parlour.models.images import ImageResolver


def preload() -> None:
    """Load what the first turn needs, before a snapshot is taken."""
    preload_providers()


@functools.cache
def build_orchestrator() -> MessageHandler[JsonObject]:
    """One wake-up: the session's turn, within the seconds that are left."""
    settings = load_settings(OrchestratorSettings)
    secrets = clients.make_secret_store()
    functions = clients.make_pack_functions(settings.pack_function_prefix)
    services = TurnDependencies(
        database=make_database(settings, secrets),
        models={},
        endpoints=make_endpoints(settings, secrets),
        outbox_queue=clients.make_checked_queue(settings.outbox_queue_url, settings.wakeups_queue_url),
        tool_queue=clients.make_checked_queue(settings.tools_queue_url, settings.wakeups_queue_url),
        embedding_queue=clients.make_delayed_queue(settings.embedding_queue_url),
        memory_queue=clients.make_delayed_queue(settings.memory_queue_url),
        wakeup_queue=clients.make_delayed_queue(settings.wakeups_queue_url),
        max_tenant_turns=settings.max_tenant_turns,
        embedder_of=make_embedding_spaces(settings, secrets).tenant_embedder,
        default_cap_usd=settings.daily_cap_usd,
        clock=lambda: datetime.now(UTC),
        sleep=time.sleep,
        jitter=random.SystemRandom().uniform,
        read_receipts={
            "whatsapp_cloud": WhatsAppCloudProvider(provider_http.new_client(), settings.whatsapp_base_url, secrets)
        },
        images=ImageResolver(functools.cache(lambda: clients.make_object_store(settings.media_bucket))),
    )

    def orchestrator(body: JsonObject, seconds_left: SecondsLeft) -> None:
        models = make_providers(
            secrets.get(settings.model_secret), settings.anthropic_base_url, with_bedrock=settings.bedrock_claude
        )
        wakeup = SessionWakeup.parse(body)
        scenes = read_demo_scenes(settings, models, services.database, wakeup.tenant_id)
        agents = make_agent_loops(functions, services.database, wakeup.tenant_id)
        models = {**add_demo_model(models, scenes), agents.provider: agents}
        run_session(replace(services, models=models), wakeup, seconds_left)

    return with_time_limit(services.database, settings, orchestrator)
