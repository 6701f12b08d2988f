"""Meta's send API: what is asked, and what each answer means."""

import json
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from parlour.channels.buttons import Button
from parlour.channels.outgoing_message import ChannelAccount, OutgoingMessage
from parlour.channels.templates import FilledTemplate
from parlour.channels.whatsapp_cloud_api import WhatsAppCloudProvider
from parlour.infra.errors import (
    DeliveryUnknown,
    KeyRefused,
    ParlourError,
    ProviderRejected,
    ProviderUnavailable,
    WindowClosed,
)

HELLO = OutgoingMessage("+919800000001", "नमस्ते", "parlour/meta", phone_number_id="106540352242922", callback_data="o:1")


class Safe:
    def get(self, reference: str, /) -> str:
        return f"token of {reference}\n"


def answered(status: int, body: Any, headers: dict[str, str] | None = None) -> WhatsAppCloudProvider:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(status, text=json.dumps(body), headers=headers))
    return WhatsAppCloudProvider(httpx2.Client(transport=transport), "https://graph.example/", Safe())


def asked(outgoing: OutgoingMessage) -> tuple[httpx2.Request, dict[str, Any]]:
    requests: list[httpx2.Request] = []

    def take(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(200, json={"messages": [{"id": "wamid.1"}]})

    client = httpx2.Client(transport=httpx2.MockTransport(take))
    assert WhatsAppCloudProvider(client, "https://graph.example/", Safe()).deliver(outgoing) == "wamid.1"
    return requests[0], json.loads(requests[0].content)


def test_a_read_receipt_is_the_one_that_meta_documents() -> None:
    requests: list[httpx2.Request] = []

    def take(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(200, json={"success": True})

    client = httpx2.Client(transport=httpx2.MockTransport(take))
    account = ChannelAccount("whatsapp_cloud", "parlour/meta", {"phone_number_id": "106540352242922"})
    WhatsAppCloudProvider(client, "https://graph.example/", Safe()).mark_read(account, "wamid.1")

    assert str(requests[0].url) == "https://graph.example/v23.0/106540352242922/messages"
    assert requests[0].headers["authorization"] == "Bearer token of parlour/meta"
    assert json.loads(requests[0].content) == {
        "messaging_product": "whatsapp",
        "status": "read",
        "message_id": "wamid.1",
        "typing_indicator": {"type": "text"},
    }


def test_a_refused_read_receipt_is_an_error() -> None:
    account = ChannelAccount("whatsapp_cloud", "parlour/meta", {"phone_number_id": "1"})
    with pytest.raises(ProviderRejected, match="400"):
        answered(400, {"error": {"code": 131009}}).mark_read(account, "wamid.1")


def test_the_request_is_the_one_that_meta_documents() -> None:
    request, body = asked(HELLO)

    assert str(request.url) == "https://graph.example/v23.0/106540352242922/messages"
    assert request.headers["authorization"] == "Bearer token of parlour/meta"
    assert body == {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": "919800000001",
        "type": "text",
        "text": {"body": "नमस्ते", "preview_url": False},
        "biz_opaque_callback_data": "o:1",
    }


def test_somebody_who_hides_their_number_is_addressed_by_metas_id() -> None:
    _, body = asked(OutgoingMessage("IN.13491208655302741918", "Hi", "s", phone_number_id="1"))

    assert body["recipient"] == "IN.13491208655302741918"
    assert "to" not in body


@pytest.mark.parametrize(("placeholder", "named"), [("1", {}), ("answer", {"parameter_name": "answer"})])
def test_a_template_carries_its_values_as_parameters(placeholder: str, named: dict[str, str]) -> None:
    template = FilledTemplate("update", "en_GB", "News: Hi", [(placeholder, "Hi")])
    _, body = asked(replace(HELLO, text="News: Hi", template=template))

    assert body["type"] == "template"
    assert body["template"]["name"] == "update"
    assert body["template"]["language"]["code"] == "en_GB"
    assert body["template"]["components"] == [{"type": "body", "parameters": [{"type": "text", "text": "Hi", **named}]}]


BUTTONS = (Button("a:yes", "Yes"), Button("a:no", "No"))


def test_buttons_are_an_interactive_message() -> None:
    _, body = asked(replace(HELLO, text="Send it?", buttons=BUTTONS))

    assert body["type"] == "interactive"
    assert body["interactive"] == {
        "type": "button",
        "body": {"text": "Send it?"},
        "action": {
            "buttons": [
                {"type": "reply", "reply": {"id": "a:yes", "title": "Yes"}},
                {"type": "reply", "reply": {"id": "a:no", "title": "No"}},
            ]
        },
    }


def test_a_template_without_placeholders_has_no_components() -> None:
    _, body = asked(replace(HELLO, text="We are back.", template=FilledTemplate("back", "en", "We are back.", [])))
    assert body["template"]["components"] == []


def test_a_templates_buttons_carry_our_ids_as_payloads() -> None:
    template = FilledTemplate("question", "en_GB", "Send it?", [("1", "Send it?")])
    _, body = asked(replace(HELLO, text="Send it?", template=template, buttons=BUTTONS))

    assert body["template"]["components"] == [
        {"type": "body", "parameters": [{"type": "text", "text": "Send it?"}]},
        *(
            {
                "type": "button",
                "sub_type": "quick_reply",
                "index": str(index),
                "parameters": [{"type": "payload", "payload": button.id}],
            }
            for index, button in enumerate(BUTTONS)
        ),
    ]


def error(code: int, **more: Any) -> dict[str, Any]:
    return {"error": {"message": "(#1) no", "code": code, **more}}


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (400, error(130429), ProviderUnavailable),
        (400, error(131056), ProviderUnavailable),
        (429, {}, ProviderUnavailable),
        (500, error(131000), ProviderUnavailable),
        (503, error(1), ProviderUnavailable),
        (500, error(1), DeliveryUnknown),
        (502, "", DeliveryUnknown),
        (504, {}, DeliveryUnknown),
        (200, {}, DeliveryUnknown),
        (200, {"messages": []}, DeliveryUnknown),
        (400, error(131047), WindowClosed),
        (400, error(100), ProviderRejected),
        (401, error(190), KeyRefused),
        (500, error(3), KeyRefused),
        (403, error(131005), KeyRefused),
        (403, error(200), KeyRefused),
        (404, {}, ProviderRejected),
    ],
)
def test_an_answer_is_told_by_its_code(status: int, body: Any, problem: type[ParlourError]) -> None:
    with pytest.raises(problem) as caught:
        answered(status, body).deliver(HELLO)
    assert type(caught.value) is problem
    assert "token of" not in str(caught.value)


def test_the_words_are_the_most_telling_ones() -> None:
    with pytest.raises(ProviderRejected, match="400: 100 no such number"):
        answered(400, error(100, error_data={"details": "no such number"})).deliver(HELLO)


@pytest.mark.parametrize(
    ("silence", "problem"),
    [(httpx2.ConnectError("no"), ProviderUnavailable), (httpx2.ReadTimeout("no"), DeliveryUnknown)],
)
def test_a_silence_before_the_request_left_is_harmless(silence: Exception, problem: type[ParlourError]) -> None:
    def fail(_: httpx2.Request) -> httpx2.Response:
        raise silence

    client = httpx2.Client(transport=httpx2.MockTransport(fail))
    with pytest.raises(problem):
        WhatsAppCloudProvider(client, "https://graph.example", Safe()).deliver(HELLO)
