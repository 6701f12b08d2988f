"""Which embedders this deployment has."""

import functools
import json
from collections.abc import Callable
from typing import cast
from urllib.parse import urlsplit

from parlour.bootstrap import clients
from parlour.infra.errors import Misconfigured
from parlour.infra.secrets import SecretStore
from parlour.infra.settings import EmbeddingModelSettings, EmbeddingSettings
from parlour.search.index.embedders import BedrockEmbedder, BedrockRuntime, OpenAiCompatibleEmbedder
from parlour.search.index.embedding_spaces import EmbeddingModel, EmbeddingSpaces, PricedEmbedder, parse_models

_PRICE_LIST_NAMES = {"api.openai.com": "openai", "api.mistral.ai": "mistral"}
"""What the price list calls the provider at a host; any other's prices are not known here."""


def list_embedding_models(settings: EmbeddingModelSettings) -> list[EmbeddingModel]:
    """Return the models that the deployment names, its own first."""
    own = EmbeddingModel(settings.embedding_model, settings.embedding_dimensions, settings.embedding_url)
    return parse_models(own, settings.embedding_models)


def make_embedding_spaces(settings: EmbeddingSettings, secrets: SecretStore) -> EmbeddingSpaces:
    """Return the spaces that the named models embed into."""
    return EmbeddingSpaces(
        [
            _make_priced_embedder(one, _key_reader(one.model, settings.embedding_secret, secrets))
            for one in list_embedding_models(settings)
        ]
    )


def _make_priced_embedder(named: EmbeddingModel, key: Callable[[], str | None]) -> PricedEmbedder:
    if not named.url:
        runtime = cast(BedrockRuntime, _bedrock())
        return PricedEmbedder(BedrockEmbedder(runtime, named.model, named.dimensions), "bedrock")
    listed = _PRICE_LIST_NAMES.get(urlsplit(named.url).hostname or "", "")
    return PricedEmbedder(OpenAiCompatibleEmbedder(named.url, named.model, named.dimensions, key), listed)


@functools.cache
def _bedrock() -> object:
    return clients.make_bedrock_client()


def _key_reader(model: str, secret: str, secrets: SecretStore) -> Callable[[], str | None]:
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
