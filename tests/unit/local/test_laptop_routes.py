"""The console's phone: typed messages reach the webhook, the conversation comes back in order."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from local import laptop_routes
from local.laptop_routes import ConsoleAddresses, ConsolePhone

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
NUMBER = "+447700900123"
PLACES = ConsoleAddresses("http://gateway/webhooks/gupshup/token", "http://phone", "Meera", "site-desk", "sandhya")


class FakeServers:
    """The webhook and the phone, as far as the routes see them."""

    def __init__(self) -> None:
        self.webhooks: list[dict[str, Any]] = []
        self.received: list[dict[str, Any]] = []
        self.status = 200

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "gateway":
            self.webhooks.append(json.loads(request.content))
            return httpx2.Response(self.status)
        number = request.url.params["to"]
        return httpx2.Response(200, json={"messages": [m for m in self.received if m["to"] == number]})


@pytest.fixture
def world() -> FakeServers:
    return FakeServers()


@pytest.fixture
def client(world: FakeServers) -> TestClient:
    ticks = count()
    handset = ConsolePhone(
        PLACES,
        httpx2.Client(transport=httpx2.MockTransport(world.answer)),
        lambda: START + timedelta(seconds=next(ticks)),
    )
    app = FastAPI()
    app.include_router(laptop_routes.build_router(handset, PLACES, lambda: "signed"))
    return TestClient(app)


def reply(text: str, seconds: float, to: str = NUMBER, status: str = "delivered") -> dict[str, Any]:
    at = (START + timedelta(seconds=seconds)).isoformat()
    return {"id": text, "to": to, "text": text, "at": at, "status": status}


def test_what_is_typed_reaches_the_webhook_as_the_provider_would_send_it(
    client: TestClient, world: FakeServers
) -> None:
    answer = client.post("/local/phone", json={"text": "How is the slab?", "from": NUMBER})
    (event,) = world.webhooks
    assert (answer.status_code, event["app"], event["type"]) == (202, "ParlourDemo", "message")
    assert event["payload"]["id"] == answer.json()["id"]
    assert (event["payload"]["source"], event["payload"]["payload"]) == ("447700900123", {"text": "How is the slab?"})


def test_the_conversation_is_shown_in_order_with_both_sides(client: TestClient, world: FakeServers) -> None:
    client.post("/local/phone", json={"text": "one", "from": NUMBER})
    client.post("/local/phone", json={"text": "two", "from": NUMBER})
    world.received = [reply("answer", 0.5), reply("elsewhere", 0.6, to="+919800000002")]
    shown = client.get("/local/phone/messages", params={"from": NUMBER}).json()
    assert [(m["direction"], m["text"]) for m in shown["messages"]] == [
        ("sent", "one"),
        ("received", "answer"),
        ("sent", "two"),
    ]
    assert (shown["contact"], shown["binding"], shown["from"]) == ("Meera", "site-desk", NUMBER)


def test_only_a_status_that_says_something_to_a_reader_is_shown(client: TestClient, world: FakeServers) -> None:
    world.received = [reply("a", 1, status="submitted"), reply("b", 2, status="delivered")]
    messages = client.get("/local/phone/messages").json()["messages"]
    assert [message["status"] for message in messages] == ["", "delivered"]


def test_a_webhook_that_refuses_is_told_and_nothing_is_shown_as_sent(client: TestClient, world: FakeServers) -> None:
    world.status = 401
    answer = client.post("/local/phone", json={"text": "hello", "from": NUMBER})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "webhook_failed")
    assert client.get("/local/phone/messages").json()["messages"] == []


@pytest.mark.parametrize("number", ["447700900123", "+0123456", "me", ""])
def test_a_number_that_is_none_is_refused(client: TestClient, number: str) -> None:
    assert client.post("/local/phone", json={"text": "x", "from": number}).status_code == 422


def test_the_token_comes_with_the_tenant_it_is_for(client: TestClient) -> None:
    assert client.get("/local/token").json() == {"token": "signed", "tenant": "sandhya"}


def test_a_page_that_points_its_own_name_at_this_machine_gets_nothing(client: TestClient) -> None:
    assert client.get("/local/token", headers={"host": "evil.example"}).status_code == 404
