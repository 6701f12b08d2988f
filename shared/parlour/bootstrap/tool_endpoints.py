"""How tools are reached from this deployment: by turns, and by the dispatcher."""

from parlour.bootstrap import clients
from parlour.bootstrap.embedding_models import make_embedding_spaces
from parlour.conversations.handoff_rules import HAND_OFF
from parlour.conversations.handoffs import hand_off
from parlour.infra.secrets import SecretStore
from parlour.infra.settings import OrchestratorSettings, ToolDispatcherSettings, ToolSettings
from parlour.tools.addresses import PrivateHosts
from parlour.tools.builtin import builtin_tools
from parlour.tools.function_endpoint import FunctionEndpoint
from parlour.tools.http_endpoint import HttpEndpoint
from parlour.tools.python_endpoint import PythonEndpoint
from parlour.tools.run import Endpoints


def make_endpoints(settings: OrchestratorSettings | ToolDispatcherSettings, secrets: SecretStore) -> Endpoints:
    """By scheme."""
    builtins = builtin_tools.builtin_handlers(
        make_embedding_spaces(settings, secrets).tenant_embedder,
        clients.make_delayed_queue(settings.embedding_queue_url),
    )
    return {
        "python": PythonEndpoint({**builtins, HAND_OFF: hand_off}, builtin_tools.BUILTIN_LOOKUPS),
        **make_outside_endpoints(settings, secrets),
    }


def make_outside_endpoints(settings: ToolSettings, secrets: SecretStore) -> Endpoints:
    """By scheme, without the built-in tools."""
    http = HttpEndpoint(secrets, PrivateHosts.parse(settings.private_tool_hosts))
    return {
        "function": FunctionEndpoint(clients.make_pack_functions(settings.pack_function_prefix)),
        "https": http,
        "http": http,
    }
