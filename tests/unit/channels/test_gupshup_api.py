"""Gupshup's send API: what is asked, what each answer means, and which silence means what.

The silences are real: a socket that refuses, hangs up or never answers.
"""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest
from fastapi.testclient import TestClient

from local import phone
from parlour.channels.buttons import Button
from parlour.channels.gupshup_api import GupshupProvider
from parlour.channels.outgoing_message import OutgoingMessage
from parlour.channels.provider_http import new_client
from parlour.channels.templates import FilledTemplate
from parlour.infra.errors import DeliveryUnknown, Misconfigured, ParlourError, ProviderRejected, ProviderUnavailable

KEY = "key-of-the-tenant"
HELLO = OutgoingMessage("+919800000001", "नमस्ते & 1+1=2", "parlour/gupshup", "ParlourDemo", "+917834811114")


class Safe:
    """Secrets by reference, remembering what was asked for."""

    def __init__(self, value: str = KEY) -> None:
        self.value = value
        self.asked: list[str] = []

    def get(self, reference: str, /) -> str:
        self.asked.append(reference)
        return self.value


def answering(answer: Callable[[httpx2.Request], httpx2.Response], safe: Safe | None = None) -> GupshupProvider:
    client = httpx2.Client(transport=httpx2.MockTransport(answer))
    return GupshupProvider(client, "https://api.example/", safe or Safe())


def answered(status: int, body: Any = None, headers: dict[str, str] | None = None) -> GupshupProvider:
    content = body if isinstance(body, str) else json.dumps(body)
    return answering(lambda _: httpx2.Response(status, text=content, headers=headers))


def test_the_request_is_the_one_that_gupshup_documents() -> None:
    asked: list[httpx2.Request] = []
    safe = Safe()

    def take(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(202, json={"status": "submitted", "messageId": "ee4a68a0"})

    assert answering(take, safe).deliver(HELLO) == "ee4a68a0"

    [request] = asked
    assert (request.method, str(request.url)) == ("POST", "https://api.example/wa/api/v1/msg")
    assert request.headers["content-type"] == "application/x-www-form-urlencoded"
    assert request.headers["apikey"] == KEY
    assert safe.asked == ["parlour/gupshup"]
    form = {name: value for name, [value] in parse_qs(request.content.decode()).items()}
    assert json.loads(form.pop("message")) == {"type": "text", "text": "नमस्ते & 1+1=2"}
    assert form == {
        "channel": "whatsapp",
        "source": "917834811114",
        "destination": "919800000001",
        "src.name": "ParlourDemo",
    }


@pytest.mark.parametrize(
    "template", [None, FilledTemplate("c6aecef6", "", "Pour: Send it?", [("1", "Pour"), ("2", "Send it?")])]
)
def test_buttons_are_a_quick_reply_with_our_ids(template: FilledTemplate | None) -> None:
    asked: list[httpx2.Request] = []

    def take(request: httpx2.Request) -> httpx2.Response:
        asked.append(request)
        return httpx2.Response(202, json={"status": "submitted", "messageId": "ee4a68a0"})

    buttons = (Button("a:yes", "Yes"), Button("a:no", "No"))
    answering(take).deliver(replace(HELLO, text="Send it?", template=template, buttons=buttons))

    form = {name: json.loads(value) for name, [value] in parse_qs(asked[0].content.decode()).items() if "{" in value}
    if template:
        postbacks = [{"index": 0, "text": "a:yes"}, {"index": 1, "text": "a:no"}]
        assert form == {"template": {"id": template.name, "params": ["Pour", "Send it?"]}, "postbackTexts": postbacks}
    else:
        options = [{"type": "text", "title": one.title, "postbackText": one.id} for one in buttons]
        content = {"type": "text", "text": "Send it?"}
        assert form == {"message": {"type": "quick_reply", "content": content, "options": options}}


def test_a_message_that_cannot_hold_back_its_key_never_quotes_it() -> None:
    provider = answered(401, {"status": "error", "message": "Portal User Not Found With APIKey"})

    with pytest.raises(Misconfigured) as caught:
        provider.deliver(HELLO)
    assert KEY not in str(caught.value)
    assert KEY not in repr(vars(provider))


@pytest.mark.parametrize(
    ("status", "body", "error", "words"),
    [
        (400, {"status": "error", "message": "Invalid Destination"}, ProviderRejected, "400: Invalid Destination"),
        (401, "Unauthorised", Misconfigured, "key: no reason given"),
        (302, "", ProviderRejected, "302"),
        (200, {"status": "error", "message": {"code": 1001}}, ProviderRejected, '{"code":1001}'),
        (429, {"status": "error", "message": "Too Many Requests"}, ProviderUnavailable, "429"),
        (500, "", ProviderUnavailable, "500"),
        (503, "", ProviderUnavailable, "503"),
        (502, "<html>Bad Gateway</html>", DeliveryUnknown, "502"),
        (504, "", DeliveryUnknown, "504"),
        (202, {"status": "submitted"}, DeliveryUnknown, "without the message's id"),
        (200, "<html>", DeliveryUnknown, "without the message's id"),
        (200, ["ee4a68a0"], DeliveryUnknown, "without the message's id"),
    ],
)
def test_every_answer_means_one_thing(status: int, body: Any, error: type[ParlourError], words: str) -> None:
    with pytest.raises(error, match=words.replace("{", r"\{")):
        answered(status, body).deliver(HELLO)


@pytest.mark.parametrize(
    ("said", "after"), [("7", 7), ("86400", 900), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None), ("", None)]
)
def test_a_busy_provider_is_asked_again_when_it_says(said: str, after: int | None) -> None:
    with pytest.raises(ProviderUnavailable) as caught:
        answered(429, {}, {"retry-after": said}).deliver(HELLO)
    assert caught.value.retry_after == after


@pytest.mark.parametrize("key", ["two\nlines", "ключ"])
def test_a_key_that_is_no_header_is_a_misconfiguration_and_nothing_was_sent(key: str) -> None:
    heard: list[bytes] = []

    def listen(connection: socket.socket) -> None:
        heard.append(connection.recv(65536))

    with _server(listen) as (url, _), pytest.raises(Misconfigured, match="parlour/gupshup"):
        GupshupProvider(new_client(), url, Safe(key)).deliver(HELLO)
    assert b"".join(heard) == b""


def test_a_base_url_that_is_none_is_a_misconfiguration() -> None:
    with pytest.raises(Misconfigured, match="GUPSHUP_BASE_URL"):
        GupshupProvider(new_client(), "telex:1234", Safe()).deliver(HELLO)


def test_a_line_end_after_the_key_does_not_matter() -> None:
    provider = answering(lambda request: httpx2.Response(202, json={"messageId": request.headers["apikey"]}))
    provider._secrets = Safe(f"{KEY}\n")

    assert provider.deliver(HELLO) == KEY


def test_nobody_there_means_not_sent() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ProviderUnavailable):
            GupshupProvider(new_client(), url, Safe()).deliver(HELLO)


def test_a_name_that_does_not_resolve_means_not_sent() -> None:
    with pytest.raises(ProviderUnavailable):
        GupshupProvider(new_client(), "http://nobody.invalid", Safe()).deliver(HELLO)


def test_hanging_up_after_reading_means_nobody_knows() -> None:
    def hang_up(connection: socket.socket) -> None:
        connection.recv(65536)

    with _server(hang_up) as (url, _), pytest.raises(DeliveryUnknown):
        GupshupProvider(new_client(), url, Safe()).deliver(HELLO)


def test_half_an_answer_means_nobody_knows() -> None:
    def half(connection: socket.socket) -> None:
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\n{")

    with _server(half) as (url, _), pytest.raises(DeliveryUnknown):
        GupshupProvider(new_client(), url, Safe()).deliver(HELLO)


def test_silence_after_the_request_means_nobody_knows() -> None:
    done = threading.Event()

    def stay_silent(connection: socket.socket) -> None:
        connection.recv(65536)
        done.wait(5)

    with _server(stay_silent) as (url, _):
        with pytest.raises(DeliveryUnknown):
            GupshupProvider(httpx2.Client(timeout=0.2), url, Safe()).deliver(HELLO)
        done.set()


def test_every_message_has_a_connection_of_its_own() -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(65536)
        body = b'{"status":"submitted","messageId":"ee4a68a0"}'
        connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        connection.recv(1)

    with _server(answer) as (url, connections):
        provider = GupshupProvider(new_client(), url, Safe())
        assert [provider.deliver(HELLO) for _ in range(3)] == ["ee4a68a0"] * 3
        assert len(connections) == 3


def test_the_phone_of_the_laptop_understands_us() -> None:
    received = phone.SimulatedPhone(lambda _: None, lambda: datetime(2026, 3, 2, tzinfo=UTC))
    with TestClient(phone.build_app(received)) as server:

        def take(request: httpx2.Request) -> httpx2.Response:
            answer = server.post(request.url.path, content=request.content, headers=dict(request.headers))
            return httpx2.Response(answer.status_code, content=answer.content)

        message_id = answering(take).deliver(HELLO)

    [message] = received.messages()
    assert (message.id, message.text, message.recipient, message.app) == (
        message_id,
        HELLO.text,
        HELLO.recipient,
        HELLO.app,
    )


@contextmanager
def _server(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[object]]]:
    """A server whose every connection is given to `serve` and then closed; yields its URL and who connected."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[object] = []

    def accept() -> None:
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            connections.append(address)
            with connection:
                serve(connection)

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{listener.getsockname()[1]}", connections
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(5)
