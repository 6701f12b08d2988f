"""How tools are reached from this deployment: by turns, and by the dispatcher."""

from parlour.bootstrap import clients
from parlour.bootstrap.embedding import spaces
from parlour.infra.secrets import Secrets
from parlour.infra.settings import OrchestratorSettings, ToolDispatcherSettings
from parlour.knowledge.tools import kit
from parlour.tools.addresses import PrivateHosts
from parlour.tools.endpoints import PythonEndpoint
from parlour.tools.http import HttpEndpoint
from parlour.tools.run import Endpoints


def endpoints(settings: OrchestratorSettings | ToolDispatcherSettings, secrets: Secrets) -> Endpoints:
    """By scheme."""
    http = HttpEndpoint(secrets, PrivateHosts.parse(settings.private_tool_hosts))
    builtins = kit.builtins(spaces(settings, secrets).embedder, clients.delays(settings.embedding_queue_url))
    return {
        "python": PythonEndpoint(builtins, kit.LOOKUPS),
        "https": http,
        "http": http,
    }
