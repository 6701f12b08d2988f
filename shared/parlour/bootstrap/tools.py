"""How tools are reached from this deployment: by turns, and by the dispatcher."""

from parlour.bootstrap.embedding import embedder
from parlour.infra.secrets import Secrets
from parlour.infra.settings import OrchestratorSettings, ToolDispatcherSettings
from parlour.knowledge.tools.search_knowledge import search_knowledge
from parlour.tools.addresses import PrivateHosts
from parlour.tools.endpoints import PythonEndpoint
from parlour.tools.http import HttpEndpoint
from parlour.tools.run import Endpoints


def endpoints(settings: OrchestratorSettings | ToolDispatcherSettings, secrets: Secrets) -> Endpoints:
    """By scheme."""
    http = HttpEndpoint(secrets, PrivateHosts.parse(settings.private_tool_hosts))
    return {
        "python": PythonEndpoint({"search_knowledge": search_knowledge(embedder(settings, secrets))}),
        "https": http,
        "http": http,
    }
