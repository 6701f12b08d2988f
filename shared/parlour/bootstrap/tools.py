"""How tools are reached from this deployment: by turns, and by the dispatcher."""

from parlour.bootstrap.embedding import embedder
from parlour.infra.settings import EmbeddingSettings
from parlour.knowledge.tools import search_knowledge
from parlour.tools.endpoints import PythonEndpoint
from parlour.tools.run import Endpoints


def endpoints(settings: EmbeddingSettings) -> Endpoints:
    """By scheme."""
    return {"python": PythonEndpoint({"search_knowledge": search_knowledge(embedder(settings))})}
