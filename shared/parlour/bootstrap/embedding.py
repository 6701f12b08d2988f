"""Which embedders this deployment has."""

import functools
import json
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from parlour.bootstrap import clients
from parlour.infra.errors import Misconfigured
from parlour.infra.secrets import Secrets
from parlour.infra.settings import EmbeddingModelSettings, EmbeddingSettings
from parlour.knowledge.index.embed import BedrockEmbedder, BedrockRuntime, OpenAiCompatibleEmbedder
from parlour.knowledge.index.spaces import NamedModel, Offer, Spaces, named_models

_LISTED = {"api.openai.com": "openai", "api.mistral.ai": "mistral"}
"""What the price list calls the provider at a host; any other's prices are not known here."""


def models(settings: EmbeddingModelSettings) -> list[NamedModel]:
    """The models that the deployment names, its own first."""
    own = NamedModel(settings.embedding_model, settings.embedding_dimensions, settings.embedding_url)
    return named_models(own, settings.embedding_models)


def spaces(settings: EmbeddingSettings, secrets: Secrets) -> Spaces:
    """What every named model embeds into."""
    return Spaces([_offer(one, _key(one.model, settings.embedding_secret, secrets)) for one in models(settings)])


def _offer(named: NamedModel, key: Callable[[], str | None]) -> Offer:
    if not named.url:
        runtime = cast(BedrockRuntime, _bedrock())
        return Offer(BedrockEmbedder(runtime, named.model, named.dimensions), "bedrock")
    listed = _LISTED.get(urlsplit(named.url).hostname or "", "")
    return Offer(OpenAiCompatibleEmbedder(named.url, named.model, named.dimensions, key), listed)


@functools.cache
def _bedrock() -> object:
    return clients.bedrock()


def _key(model: str, secret: str, secrets: Secrets) -> Callable[[], str | None]:
    """Read when it is needed, so that a rotated one is picked up; None where the endpoint asks for none."""

    def read() -> str | None:
        if not secret:
            return None
        try:
            found = json.loads(secrets.get(secret))
            return str(found[model]) if found.get(model) else None
        except (ValueError, AttributeError):
            raise Misconfigured('the embedding secret must be JSON: {"model": "key"}') from None

    return read
