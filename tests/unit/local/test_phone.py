"""The phone: what the send API takes, what is kept, what is reported back."""

from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

import httpx2
import pytest
from fastapi.testclient import TestClient

from local import phone
from local.phone import SimulatedPhone
from parlour.channels.buttons import Button
from parlour.channels.gupshup_api import GupshupProvider
from parlour.channels.outgoing_message import OutgoingMessage
from parlour.channels.templates import FilledTemplate
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
FORM = {
    "channel": "whatsapp",
    "source": "917834811114",
    "src.name": "ParlourDemo",
    "destination": "447700900123",
    "message": '{"type":"text","text":"Poured on Tuesday. [1]"}',
}


@pytest.fixture
def reported() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def client(reported: list[dict[str, Any]]) -> TestClient:
    return TestClient(phone.build_app(SimulatedPhone(reported.append, lambda: NOW, lambda _: None)))


def send(client: TestClient, form: dict[str, str], **headers: str) -> Any:
    content = urlencode(form)
    form_type = "application/x-www-form-urlencoded"
    return client.post("/wa/api/v1/msg", content=content, headers={"content-type": form_type, **headers})


def test_a_sent_message_is_kept_with_the_id_that_was_answered(client: TestClient) -> None:
    answer = send(client, FORM, apikey="k")
    kept = client.get("/messages").json()["messages"]
    assert (answer.status_code, answer.json()["status"]) == (202, "submitted")
    assert [(m["id"], m["to"], m["text"]) for m in kept] == [
        (answer.json()["messageId"], "+447700900123", "Poured on Tuesday. [1]")
    ]


def test_what_became_of_a_message_is_reported_by_both_of_its_ids(
    client: TestClient, reported: list[dict[str, Any]]
) -> None:
    answered = send(client, FORM, apikey="k").json()["messageId"]
    events = [event["payload"] for event in reported]
    assert [event["type"] for event in events] == ["enqueued", "sent", "delivered"]
    assert events[0]["id"] == events[1]["gsId"] == events[2]["gsId"] == answered
    assert events[0]["payload"]["whatsappMessageId"] == events[1]["id"] == events[2]["id"]
    assert client.get("/messages").json()["messages"][0]["status"] == "delivered"


def test_without_a_key_nothing_is_taken(client: TestClient) -> None:
    assert send(client, FORM).status_code == 401
    assert client.get("/messages").json() == {"messages": []}


@pytest.mark.parametrize("missing", ["destination", "source", "message", "src.name"])
def test_a_form_without_a_field_is_refused(client: TestClient, missing: str) -> None:
    form = {name: value for name, value in FORM.items() if name != missing}
    assert send(client, form, apikey="k").status_code == 400


def test_plain_text_is_taken_for_a_text_message(client: TestClient) -> None:
    send(client, {**FORM, "message": "Hello"}, apikey="k")
    assert client.get("/messages").json()["messages"][0]["text"] == "Hello"


def test_messages_are_told_apart_by_phone_and_can_be_forgotten(client: TestClient) -> None:
    send(client, FORM, apikey="k")
    send(client, {**FORM, "destination": "919800000002"}, apikey="k")
    assert len(client.get("/messages", params={"to": "+919800000002"}).json()["messages"]) == 1
    client.delete("/messages")
    assert client.get("/messages").json() == {"messages": []}


def sent_to(client: TestClient, request: httpx2.Request) -> httpx2.Response:
    answer = client.post(request.url.path, content=request.content, headers=dict(request.headers))
    return httpx2.Response(answer.status_code, json=answer.json())


class Secrets:
    def get(self, _reference: str, /) -> str:
        return "key"


@pytest.mark.parametrize("template", [None, FilledTemplate("question", "en_GB", "Send it?", [("1", "Send it?")])])
@pytest.mark.parametrize("provider_class", [GupshupProvider, WhatsAppCloudProvider])
def test_the_buttons_of_both_providers_are_kept(
    client: TestClient, provider_class: type[GupshupProvider | WhatsAppCloudProvider], template: FilledTemplate | None
) -> None:
    provider = provider_class(
        httpx2.Client(transport=httpx2.MockTransport(partial(sent_to, client))), "http://phone", Secrets()
    )
    buttons = (Button("a:yes", "Yes"), Button("a:no", "No"))
    provider.deliver(
        OutgoingMessage("+447700900123", "Send it?", "k", "App", "+4477", "1", template=template, buttons=buttons)
    )

    [kept] = client.get("/messages").json()["messages"]
    assert (kept["text"], kept["buttons"]) == ("Send it?", [button.to_json() for button in buttons])
