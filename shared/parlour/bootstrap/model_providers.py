"""The providers of models that this deployment can ask."""

import functools
import json
import threading
import time
from collections.abc import Mapping
from uuid import UUID

from parlour.bootstrap import clients
from parlour.infra.errors import Misconfigured
from parlour.infra.functions import PackFunctions
from parlour.infra.postgres import Database
from parlour.infra.settings import LaptopModelSettings
from parlour.models import anthropic, prices
from parlour.models.anthropic import AnthropicModel
from parlour.models.bedrock import BedrockModel
from parlour.models.demo import DemoModel
from parlour.models.demo_scenes import Scene, scenes_from_settings
from parlour.models.function_model import FunctionModel
from parlour.models.model import Model
from parlour.models.offline import OfflineModel
from parlour.models.simulated_cache import SimulatedCache
from parlour.tenancy import tenants

_simulated_cache = SimulatedCache(time.monotonic)


def preload() -> None:
    """Import what the first model call needs: before a snapshot, or while the database answers."""
    anthropic.preload()
    prices.preload()


@functools.lru_cache(maxsize=1)
def make_providers(secret: str, base_url: str, *, with_bedrock: bool) -> Mapping[str, Model]:
    """Return the providers that have a key or need none, and the offline model; rebuilt when the secret changes.

    What the first call needs is imported while the database answers.
    """
    try:
        key = json.loads(secret)["anthropic_api_key"]
    except (ValueError, KeyError, TypeError):
        raise Misconfigured('the model secret must be JSON: {"anthropic_api_key": "..."}') from None
    models: dict[str, Model] = {OfflineModel.provider: OfflineModel()}
    if with_bedrock:
        models[BedrockModel.provider] = BedrockModel(clients.make_bedrock_streaming_client())
    if key:
        models[AnthropicModel.provider] = AnthropicModel(key, base_url)
    if key or with_bedrock:
        threading.Thread(target=preload if key else prices.preload, daemon=True).start()
    return models


def read_demo_scenes(
    settings: LaptopModelSettings, models: Mapping[str, Model], database: Database, tenant_id: UUID
) -> tuple[Scene, ...]:
    """Return the scenes that a tenant's pack brings; none outside of a demo, or where a real provider is configured."""
    if settings.laptop_model != "demo" or set(models) != {OfflineModel.provider}:
        return ()
    with database.transaction(tenant_id) as tx:
        tenant = tenants.find_own_tenant(tx)
    return scenes_from_settings(tenant.settings) if tenant else ()


def add_demo_model(models: Mapping[str, Model], scenes: tuple[Scene, ...]) -> Mapping[str, Model]:
    """Return the providers with the demo model, if there are scenes for it."""
    if not scenes:
        return models
    return {**models, DemoModel.provider: DemoModel(scenes, _simulated_cache, time.sleep)}


def make_agent_loops(functions: PackFunctions, database: Database, tenant_id: UUID) -> FunctionModel:
    """Return the agent loops of the tenant's own pack."""

    def find_slug() -> str:
        with database.transaction(tenant_id) as tx:
            tenant = tenants.find_own_tenant(tx)
        if tenant is None:
            raise Misconfigured("the tenant is gone")
        return tenant.slug

    return FunctionModel(functions, find_slug)
