"""The console's phone: typed messages reach the provider's webhook, each conversation comes back in order."""

import json
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from local import laptop_routes, meta_webhooks
from local.laptop_routes import BusinessNumber, ConsoleAddresses, ConsolePhone
from parlour.channels import gupshup_webhook, whatsapp_cloud_webhook

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
NUMBER = "+447700900123"
PLACES = ConsoleAddresses(
    webhook="http://gateway/webhooks/gupshup/token",
    whatsapp="http://gateway/webhooks/whatsapp",
    whatsapp_secret="app-secret",
    phone="http://phone",
    tenant="sandhya",
)
SITE = BusinessNumber("site-desk", "Site desk", "Meera", "gupshup", "SandhyaDemo")
SALES = BusinessNumber("sales", "Sales", "Ravi", "whatsapp_cloud", "10472935")
TO_SITE = {"tenant": "sandhya", "binding": "site-desk", "from": NUMBER}
TO_SALES = {**TO_SITE, "binding": "sales"}


class FakeServers:
    """The webhook and the phone, as far as the routes see them."""

    def __init__(self) -> None:
        self.webhooks: list[dict[str, Any]] = []
        self.signatures: list[bool] = []
        self.received: list[dict[str, Any]] = []
        self.status = 200

    def answer(self, request: httpx2.Request) -> httpx2.Response:
        if request.url.host == "gateway":
            self.webhooks.append(json.loads(request.content))
            signature = request.headers.get(meta_webhooks.SIGNATURE_HEADER)
            self.signatures.append(signature == meta_webhooks.sign(request.content, "app-secret"))
            return httpx2.Response(self.status)
        number = request.url.params["to"]
        return httpx2.Response(200, json={"messages": [m for m in self.received if m["to"] == number]})


@pytest.fixture
def world() -> FakeServers:
    return FakeServers()


def find_numbers(tenant: str) -> list[BusinessNumber]:
    return [SITE, SALES] if tenant == "sandhya" else []


@pytest.fixture
def client(world: FakeServers) -> TestClient:
    ticks = count()
    handset = ConsolePhone(
        PLACES,
        httpx2.Client(transport=httpx2.MockTransport(world.answer)),
        lambda: START + timedelta(seconds=next(ticks)),
    )
    app = FastAPI()
    app.include_router(laptop_routes.build_router(handset, find_numbers, PLACES.tenant, lambda: "signed"))
    return TestClient(app)


def reply(
    text: str, seconds: float, to: str = NUMBER, status: str = "delivered", app: str = "SandhyaDemo"
) -> dict[str, Any]:
    at = (START + timedelta(seconds=seconds)).isoformat()
    return {"id": text, "to": to, "text": text, "at": at, "status": status, "app": app, "buttons": []}


def shown(client: TestClient, to: dict[str, str]) -> list[tuple[str, str]]:
    messages = client.get("/local/phone/messages", params=to).json()["messages"]
    return [(message["direction"], message["text"]) for message in messages]


def test_numbers_of_a_tenant_are_listed(client: TestClient) -> None:
    found = client.get("/local/phone/numbers", params={"tenant": "sandhya"}).json()
    assert found["from"] == NUMBER
    assert [(one["binding"], one["contact"]) for one in found["numbers"]] == [("site-desk", "Meera"), ("sales", "Ravi")]
    assert client.get("/local/phone/numbers", params={"tenant": "nobody"}).json()["numbers"] == []


def test_what_is_typed_reaches_gupshups_webhook_as_gupshup_would_send_it(
    client: TestClient, world: FakeServers
) -> None:
    answer = client.post("/local/phone", json={"text": "How is the slab?", **TO_SITE})
    (event,) = world.webhooks
    assert (answer.status_code, event["app"], event["type"]) == (202, "SandhyaDemo", "message")
    assert event["payload"]["id"] == answer.json()["id"]
    assert (event["payload"]["source"], event["payload"]["payload"]) == ("447700900123", {"text": "How is the slab?"})


def test_what_is_typed_reaches_metas_webhook_signed(client: TestClient, world: FakeServers) -> None:
    answer = client.post("/local/phone", json={"text": "How is the slab?", **TO_SALES})
    (event,) = world.webhooks
    (value,) = (change["value"] for change in event["entry"][0]["changes"])
    assert (answer.status_code, value["metadata"]["phone_number_id"]) == (202, "10472935")
    assert value["messages"][0]["text"] == {"body": "How is the slab?"}
    assert world.signatures == [True]


@pytest.mark.parametrize("to", [TO_SITE, TO_SALES])
def test_a_pressed_button_reaches_the_webhook_with_its_id(
    client: TestClient, world: FakeServers, to: dict[str, str]
) -> None:
    client.post("/local/phone", json={"text": "Yes", "button_id": "a:yes", **to})
    [event] = world.webhooks
    found = (
        gupshup_webhook.parse(event, START) if to is TO_SITE else whatsapp_cloud_webhook.parse(event, START).envelopes
    )
    assert [(envelope.text, envelope.metadata["button_id"]) for envelope in found] == [("Yes", "a:yes")]
    assert shown(client, to) == [("sent", "Yes")]


def test_each_conversation_is_shown_in_order_with_both_sides(client: TestClient, world: FakeServers) -> None:
    client.post("/local/phone", json={"text": "one", **TO_SITE})
    client.post("/local/phone", json={"text": "two", **TO_SITE})
    client.post("/local/phone", json={"text": "three", **TO_SALES})
    world.received = [
        reply("answer", 0.5),
        reply("elsewhere", 0.6, to="+919800000002"),
        reply("offer", 9, app="10472935"),
    ]
    assert shown(client, TO_SITE) == [("sent", "one"), ("received", "answer"), ("sent", "two")]
    assert shown(client, TO_SALES) == [("sent", "three"), ("received", "offer")]


def test_only_a_status_that_says_something_to_a_reader_is_shown(client: TestClient, world: FakeServers) -> None:
    world.received = [reply("a", 1, status="submitted"), reply("b", 2, status="delivered")]
    messages = client.get("/local/phone/messages", params=TO_SITE).json()["messages"]
    assert [message["status"] for message in messages] == ["", "delivered"]


@pytest.mark.parametrize("to", [TO_SITE, TO_SALES])
def test_a_webhook_that_refuses_is_told_and_nothing_is_shown_as_sent(
    client: TestClient, world: FakeServers, to: dict[str, str]
) -> None:
    world.status = 401
    answer = client.post("/local/phone", json={"text": "hello", **to})
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "webhook_failed")
    assert shown(client, to) == []


@pytest.mark.parametrize("number", ["447700900123", "+0123456", "me", ""])
def test_a_number_that_is_none_is_refused(client: TestClient, number: str) -> None:
    assert client.post("/local/phone", json={"text": "x", **TO_SITE, "from": number}).status_code == 422
    assert client.get("/local/phone/messages", params={**TO_SITE, "from": number}).status_code == 422


@pytest.mark.parametrize("wrong", [{"binding": "nobody"}, {"tenant": "other"}])
def test_a_binding_without_a_number_is_not_found(client: TestClient, world: FakeServers, wrong: dict[str, str]) -> None:
    assert client.post("/local/phone", json={"text": "x", **TO_SITE, **wrong}).status_code == 404
    assert client.get("/local/phone/messages", params={**TO_SITE, **wrong}).status_code == 404
    assert world.webhooks == []


def test_the_token_comes_with_the_tenant_it_is_for(client: TestClient) -> None:
    assert client.get("/local/token").json() == {"token": "signed", "tenant": "sandhya"}


def test_a_page_that_points_its_own_name_at_this_machine_gets_nothing(client: TestClient) -> None:
    assert client.get("/local/token", headers={"host": "evil.example"}).status_code == 404
