"""What nobody should send: answered as the protocol says, logged, counted; nothing lost, no 500, no poison."""

from typing import Any

import httpx2
import pytest

from local import logs
from local.talk import sample, until
from tests.end_to_end.world import World

_BODY = """
SELECT m.body FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND m.direction = 'inbound'
"""


@pytest.fixture(autouse=True, scope="module")
def _no_poison(world: World) -> Any:
    """Whatever comes in here ends among no queue's dead letters."""
    before = world.queued(dead=True)
    yield
    world.settle()
    assert world.queued(dead=True) == before


def answered(world: World, number: str) -> list[dict[str, Any]]:
    return until(lambda: world.talk.phone_messages(number), "the reply", 60)


def test_a_forged_token_is_refused(world: World) -> None:
    forged = world.stack.addresses.webhook.rsplit("/", 1)[0] + "/a-token-that-was-guessed"
    assert httpx2.post(forged, json=sample("inbound_gupshup_text"), timeout=30).status_code in {401, 403, 404}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"app": "ParlourDemo", "type": "message", "payload": {"id": ', 400),
        (b"[]", 400),
        (b"", 400),
        (b"\xff\xfe\x00", 400),
        (b'{"type": "message"}', 400),
        (b'{"x": "' + b"y" * 300_000 + b'"}', 413),
    ],
    ids=["cut", "a list", "nothing", "no text", "nothing in it", "too large"],
)
def test_a_body_that_is_no_webhook_is_refused(world: World, body: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    answer = httpx2.post(world.stack.addresses.webhook, content=body, headers=headers, timeout=30)
    assert answer.status_code == status


def test_an_unknown_number_behind_a_good_token_is_accepted_counted_and_stored_nowhere(world: World) -> None:
    payload = {**sample("inbound_gupshup_text"), "app": "NobodysApp"}
    assert world.talk.webhook(payload) == 200
    world.settle()
    stored = world.value(
        "SELECT count(*) FROM messages WHERE provider_message_id LIKE %s", "%" + payload["payload"]["id"]
    )
    assert stored == 0
    counted = [line.text for line in logs.lines(world.stack.addresses.emulator) if '"UnknownNumber"' in line.text]
    assert counted


@pytest.mark.parametrize(
    "text",
    ["How wide is the crack\x00 at C4?", "How wide is the crack \ud800at C4?"],
    ids=["NUL", "lone surrogate"],
)
def test_what_the_database_cannot_hold_is_cleaned_and_answered(world: World, text: str) -> None:
    number = world.phone()
    assert world.talk.webhook(sample("inbound_gupshup_text", text=text, sender=number)) == 200
    answered(world, number)
    body = world.value(_BODY, number)
    assert body == "How wide is the crack at C4?"


@pytest.mark.parametrize("text", ["How wide is the crack at C4? " * 345, " ", "\u202e\u200b"])
def test_a_text_that_is_too_long_or_says_nothing_gets_a_polite_reply(world: World, text: str) -> None:
    number = world.phone()
    assert world.talk.webhook(sample("inbound_gupshup_text", text=text, sender=number)) == 200
    assert answered(world, number)[0]["text"]


@pytest.mark.parametrize("kind", ["sticker", "location", "contact", "order", "something new"])
def test_a_kind_of_message_that_cannot_be_read_gets_a_polite_reply(world: World, kind: str) -> None:
    number, payload = world.phone(), sample("inbound_gupshup_image")
    payload["payload"]["source"] = payload["payload"]["sender"]["phone"] = number.removeprefix("+")
    payload["payload"]["type"] = kind
    payload["payload"]["payload"]["url"] = f"{world.stack.addresses.phone}/wa/demo/media/1"  # the provider's own is far
    assert world.talk.webhook(payload) == 200
    assert answered(world, number)[0]["text"]


@pytest.mark.parametrize("text", ["", "x" * 10_000, "\x00"])
def test_rest_refuses_what_chat_answers_politely(world: World, text: str) -> None:
    session = world.talk.open_session("contract-desk")
    url = f"{world.stack.addresses.console}/v1/sessions/{session.id}/messages"
    answer = httpx2.post(url, json={"text": text}, headers=session.headers, timeout=30)
    assert answer.status_code == 422


def test_somebody_elses_session_is_none_of_yours(world: World) -> None:
    mine, theirs = world.talk.open_session("contract-desk"), world.talk.open_session("contract-desk")
    url = f"{world.stack.addresses.console}/v1/sessions/{theirs.id}/messages"
    for method, body in (("GET", None), ("POST", {"text": "hello"})):
        answer = httpx2.request(method, url, json=body, headers=mine.headers, timeout=30)
        assert answer.status_code in {403, 404}


@pytest.mark.parametrize("token", ["", "nonsense", "eyJhbGciOiJub25lIn0.e30."])
def test_a_token_that_is_none_opens_nothing(world: World, token: str) -> None:
    session = world.talk.open_session("contract-desk")
    url = f"{world.stack.addresses.console}/v1/sessions/{session.id}/messages"
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    assert httpx2.get(url, headers=headers, timeout=30).status_code == 401
