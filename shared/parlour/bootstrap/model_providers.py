"""The providers of models that this deployment can ask."""

import functools
import json
import threading
from collections.abc import Mapping

from parlour.bootstrap import clients
from parlour.infra.errors import Misconfigured
from parlour.models import anthropic, prices
from parlour.models.anthropic import AnthropicModel
from parlour.models.bedrock import BedrockModel
from parlour.models.model import Model
from parlour.models.offline import OfflineModel


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
