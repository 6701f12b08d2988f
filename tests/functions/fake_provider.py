"""The providers, played by the laptop's phone on a real port."""

import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest
import uvicorn

from local import phone
from local.phone import NextResponse, SimulatedPhone
from parlour.infra.json_values import JsonObject


@dataclass
class FakeProvider:
    """Where it listens, what it received, what it reported, and how it behaves."""

    url: str
    phone: SimulatedPhone
    behaviour: NextResponse
    reported_statuses: list[JsonObject] = field(default_factory=list)


@pytest.fixture
def fake_provider() -> Iterator[FakeProvider]:
    reported: list[JsonObject] = []
    played = SimulatedPhone(reported.append, lambda: datetime.now(UTC), lambda _: None)
    behaviour = NextResponse()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(phone.build_app(played, behaviour), log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield FakeProvider(f"http://127.0.0.1:{listening.getsockname()[1]}", played, behaviour, reported)
        server.should_exit = True
        thread.join(5)
