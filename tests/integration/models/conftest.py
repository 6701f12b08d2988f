"""Two servers for the adapters to talk to, both on this machine: an independent one, and one that plays any bytes."""

from collections.abc import Iterator

import pytest

from tests.integration.models.aimock import ProtocolServer
from tests.integration.models.scripted_http_server import ScriptedHttpServer


@pytest.fixture(scope="session")
def running_protocol_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProtocolServer]:
    server = ProtocolServer(tmp_path_factory.mktemp("protocol_server"))
    yield server
    server.stop()


@pytest.fixture
def protocol_server(running_protocol_server: ProtocolServer) -> ProtocolServer:
    """An independent server that has been told nothing and asked nothing yet."""
    running_protocol_server.reset()
    return running_protocol_server


@pytest.fixture
def scripted_server() -> Iterator[ScriptedHttpServer]:
    """A server that plays the bytes it is given."""
    wire = ScriptedHttpServer()
    yield wire
    wire.close()
