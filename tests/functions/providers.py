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
from local.phone import Behaviour, Phone
from parlour.infra.jsonable import JsonObject


@dataclass
class Provider:
    """Where it listens, what it received, what it reported, and how it behaves."""

    url: str
    phone: Phone
    behaviour: Behaviour
    reported: list[JsonObject] = field(default_factory=list)


@pytest.fixture
def provider() -> Iterator[Provider]:
    reported: list[JsonObject] = []
    played = Phone(reported.append, lambda: datetime.now(UTC), lambda _: None)
    behaviour = Behaviour()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(phone.build(played, behaviour), log_level="critical"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield Provider(f"http://127.0.0.1:{listening.getsockname()[1]}", played, behaviour, reported)
        server.should_exit = True
        thread.join(5)
