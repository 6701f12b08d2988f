"""Which embedder this deployment uses."""

from typing import cast

from parlour.bootstrap import clients
from parlour.infra.settings import EmbeddingSettings
from parlour.knowledge.index.embed import BedrockEmbedder, BedrockRuntime, Embedder, OpenAiCompatibleEmbedder


def embedder(settings: EmbeddingSettings) -> Embedder:
    """Bedrock's, unless the deployment names an OpenAI-compatible endpoint."""
    if settings.embedding_url:
        return OpenAiCompatibleEmbedder(settings.embedding_url, settings.embedding_model, settings.embedding_dimensions)
    return BedrockEmbedder(
        cast(BedrockRuntime, clients.bedrock()), settings.embedding_model, settings.embedding_dimensions
    )
