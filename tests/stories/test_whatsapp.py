"""WhatsApp, by Gupshup and by WhatsApp Cloud: what comes in is answered once, with sources, or refused."""

import re
import time
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.stories import words
from tests.stories.clients import (
    HTTP,
    Api,
    Command,
    Phone,
    Visitor,
    citation_numbers,
    cited_titles,
    cloud_text,
    deliver,
    deliver_cloud,
    footnotes,
    gupshup_event,
)
from tests.stories.stack import Stack, until

_LIABILITY = "What is our liability limited to?"


def test_text_message_gets_one_reply_with_its_source(operator: Api, phone: Phone) -> None:
    title = "Kittiwake mast survey"
    operator.document(title, "The kittiwake mast at pylon eleven is 61.5 metres high.")
    reply = phone.ask("How high is the kittiwake mast at pylon eleven?")
    sources = footnotes(reply)
    assert "61.5" in reply
    assert any(source.startswith(title) for source in sources.values())
    assert citation_numbers(reply) == set(sources)
    (session,) = operator.sessions_of(phone.number)
    (turn,) = operator.turns(session["id"])
    assert turn["state"] == words.ANSWERED
    assert title in cited_titles(turn["reply"])
    assert title in operator.titles_found("kittiwake mast pylon eleven")
    assert len(phone.received()) == 1


def test_same_webhook_ten_times_makes_one_turn(running_stack: Stack, operator: Api, phone: Phone) -> None:
    payload = phone.payload("When does the crane come?")
    with ThreadPoolExecutor(5) as five:
        assert set(five.map(lambda _: deliver(running_stack, payload), range(10))) == {200}
    phone.reply()
    assert deliver(running_stack, payload) == 200
    phone.ask("Up to which wind may we lift?")  # in order: whatever the copies made is there before this reply
    (session,) = operator.sessions_of(phone.number)
    inputs = [[message["text"] for message in turn["input_messages"]] for turn in operator.turns(session["id"])]
    assert inputs == [["When does the crane come?"], ["Up to which wind may we lift?"]]
    assert len(phone.received()) == 2


def test_burst_of_messages_gets_one_or_two_replies(operator: Api, phone: Phone) -> None:
    questions = ["How wide is the crack at C4?", "When does the crane come?", "When is the progress meeting?"]
    with ThreadPoolExecutor(3) as three:
        list(three.map(phone.write, questions))
    phone.reply()
    (session,) = operator.sessions_of(phone.number)

    def answered() -> list[str]:
        turns = operator.turns(session["id"])
        return [one["text"] for turn in turns if turn["state"] == words.ANSWERED for one in turn["input_messages"]]

    until(lambda: len(answered()) >= len(questions), "a turn for each message")
    until(lambda: len(phone.received()) == len(operator.turns(session["id"])), "every turn's reply")
    assert sorted(answered()) == sorted(questions)
    assert len(phone.received()) <= 2


def test_webhook_with_a_wrong_token_or_signature_is_refused(running_stack: Stack, operator: Api, phone: Phone) -> None:
    forged = running_stack.webhook.rsplit("/", 1)[0] + "/a-token-that-was-guessed"
    text = cloud_text(phone.number, _LIABILITY)
    statuses = [
        HTTP.post(forged, json=phone.payload(_LIABILITY)).status_code,
        deliver_cloud(running_stack, text, secret=""),
        deliver_cloud(running_stack, text, secret="guessed" * 4),
    ]
    assert set(statuses) <= {401, 403, 404}
    assert deliver_cloud(running_stack, text) == 200
    until(phone.received, "the reply to the signed one")
    (session,) = operator.sessions_of(phone.number)
    assert [len(turn["input_messages"]) for turn in operator.turns(session["id"])] == [1]


def test_malformed_webhook_is_refused_and_makes_no_dead_letter(running_stack: Stack, operator: Api) -> None:
    before = operator.get(words.DEAD_LETTERS)
    bodies = {
        b'{"app": "ParlourDemo", "type": "message", "payload": {"id": ': 400,
        b"[]": 400,
        b"": 400,
        b"\xff\xfe\x00": 400,
        b'{"type": "message"}': 400,
        b'{"x": "' + b"y" * 300_000 + b'"}': 413,
    }
    headers = {"Content-Type": "application/json"}
    found = {body: HTTP.post(running_stack.webhook, content=body, headers=headers).status_code for body in bodies}
    assert found == bodies
    assert operator.get(words.DEAD_LETTERS) == before


def test_message_to_an_unknown_number_is_accepted_and_goes_nowhere(
    running_stack: Stack, operator: Api, phone: Phone
) -> None:
    assert deliver(running_stack, phone.payload("Is anybody there?", app="NobodysApp")) == 200
    phone.ask("When does the crane come?")
    (session,) = operator.sessions_of(phone.number)
    assert "Is anybody there?" not in str(operator.get(f"/v1/sessions/{session['id']}/messages"))
    assert len(phone.received()) == 1


def test_cloud_webhook_with_two_senders_gets_two_delivered_replies(
    running_stack: Stack, operator: Api, phone: Phone, number: str
) -> None:
    other = Phone(running_stack, number.replace("+447700900", "+447700901"))
    texts = (cloud_text(phone.number, _LIABILITY), cloud_text(other.number, "When does the crane come?"))
    assert deliver_cloud(running_stack, *texts) == 200
    assert deliver_cloud(running_stack, *texts) == 200
    assert "2,430,000" in phone.reply()
    assert "Sources:" in other.reply()
    (session,) = operator.sessions_of(phone.number)[:1]

    def delivery() -> bool:
        return bool(operator.turns(session["id"])[0][words.DELIVERY]["state"] == "delivered")

    until(delivery, "word that the reply was delivered")
    assert [len(one.received()) for one in (phone, other)] == [1, 1]


def test_cloud_challenge_is_answered_for_the_verify_token_alone(running_stack: Stack) -> None:
    address = running_stack.deployed + words.WHATSAPP_CLOUD_WEBHOOK
    asked = {"hub.mode": "subscribe", "hub.challenge": "1158201444"}
    right = HTTP.get(address, params={**asked, "hub.verify_token": running_stack.cloud_verify_token})
    assert (right.status_code, right.text) == (200, "1158201444")
    wrong = HTTP.get(address, params={**asked, "hub.verify_token": "guessed" * 4})
    assert wrong.status_code in {401, 403}
    assert "1158201444" not in wrong.text


def test_message_that_is_too_long_gets_a_polite_line(phone: Phone) -> None:
    assert re.search(words.TOO_LONG_LINE, phone.ask("How wide is the crack at C4? " * 345), re.IGNORECASE)


@pytest.mark.parametrize("text", [" ", "\u202e\u200b"], ids=["blank", "invisible"])
def test_message_that_says_nothing_gets_a_reply_without_sources(phone: Phone, text: str) -> None:
    reply = phone.ask(text)
    assert reply.strip()
    assert footnotes(reply) == {}


@pytest.mark.parametrize("kind", ["sticker", "location", "contact", "something new"])
def test_message_of_an_unreadable_kind_gets_a_reply(running_stack: Stack, phone: Phone, kind: str) -> None:
    content = {"url": f"{running_stack.phone}/wa/demo/media/1"}
    assert deliver(running_stack, phone.payload_of(kind, content)) == 200
    assert phone.reply().strip()


def test_picture_is_kept_with_its_caption_and_answered(running_stack: Stack, operator: Api, phone: Phone) -> None:
    content = {
        "url": f"{running_stack.phone}/wa/demo/media/1",
        "contentType": "image/png",
        "caption": "The crack at C4 this morning",
    }
    assert deliver(running_stack, phone.payload_of("image", content)) == 200
    assert phone.reply().strip()
    (session,) = operator.sessions_of(phone.number)
    message, _ = operator.get(f"/v1/sessions/{session['id']}/messages")["messages"]
    assert message["text"] == "The crack at C4 this morning"
    assert [(one["kind"], one["media_type"]) for one in message["attachments"]] == [("image", "image/png")]


def test_delivery_callback_marks_the_reply_as_read(running_stack: Stack, operator: Api, phone: Phone) -> None:
    phone.ask("When does the crane come?")
    (session,) = operator.sessions_of(phone.number)

    def state() -> str:
        return str(operator.turns(session["id"])[0][words.DELIVERY]["state"])

    until(lambda: state() == "delivered", "word of the delivery")
    payload = {
        "id": f"wamid.{uuid.uuid4().hex}",
        "gsId": phone.received()[0]["id"],
        "type": "read",
        "destination": phone.number.removeprefix("+"),
        "payload": {"ts": int(time.time())},
    }
    assert deliver(running_stack, gupshup_event(words.GUPSHUP_APP, "message-event", payload)) == 200
    until(lambda: state() == "read", "word that it was read")
    assert len(phone.received()) == 1


def test_reply_of_unknown_fate_waits_until_a_person_settles_it(
    running_stack: Stack, operator: Api, phone: Phone, command: Command
) -> None:
    HTTP.post(f"{running_stack.phone}/behaviour", json={"next": "hang_up"})
    phone.write("When does the crane come?")
    phone.reply()
    (session,) = operator.sessions_of(phone.number)

    def waiting() -> list[str]:
        items = operator.get("/v1/attention")["items"]
        return [
            one["id"] for one in items if one["kind"] == words.UNKNOWN_DELIVERY and one["session_id"] == session["id"]
        ]

    (reply,) = until(waiting, "the reply among what needs a person")
    assert reply in command.print("inbox", "show", session["id"])
    command.print(words.ATTENTION, words.MARK_ARRIVED, reply)
    assert waiting() == []
    assert len(phone.received()) == 1


def test_reply_to_a_message_of_yesterday_is_held_until_dismissed(
    running_stack: Stack, operator: Api, phone: Phone, command: Command
) -> None:
    yesterday = time.time() - 26 * 3_600
    assert deliver(running_stack, phone.payload("When does the crane come?", sent_at=yesterday)) == 200

    def held() -> list[str]:
        items = operator.get("/v1/attention")["items"]
        replies = [one for one in items if one["kind"] == words.HELD_REPLY]
        return [one["id"] for one in replies if one["recipient"].endswith(phone.number[-4:])]

    (reply,) = until(held, "the reply among what needs a person")
    assert phone.received() == []
    command.print(words.ATTENTION, words.DISMISS, reply)
    assert held() == []


def test_phone_joined_by_code_shares_the_web_conversation(
    operator: Api, phone: Phone, visit: Callable[..., Visitor]
) -> None:
    phone.ask("How wide is the crack at C4?")
    visitor = visit()
    visitor.ask("When does the crane come?")
    wanted = {"phone": phone.number, "consent": True}
    assert visitor.send("POST", f"{visitor.path}/phone", {**wanted, "consent": False}).status_code == 422
    asked = visitor.send("POST", f"{visitor.path}/phone", wanted)
    assert asked.status_code == 202
    code = re.search(r"\b\d{6}\b", phone.reply(2))
    assert code
    link = f"{visitor.path}/phone/{asked.json()['link_id']}"
    wrong = f"{(int(code[0]) + 1) % 1_000_000:06}"
    assert visitor.send("POST", link, {"code": wrong}).status_code == 422
    joined = visitor.send("POST", link, {"code": code[0]})
    assert joined.status_code == 200
    token = joined.json()["visitor_token"]
    listed = visitor.send("GET", "/v1/sessions", with_token=token).json()["sessions"]
    assert {session["channel"] for session in listed} == {"web", "whatsapp"}
    assert {visitor.session_id, joined.json()["session_id"]} == {session["id"] for session in listed}
    phone.ask("Up to which wind may we lift?")
    together = f"/v1/sessions/{joined.json()['session_id']}/messages"
    texts = [one["text"] for one in visitor.send("GET", together, with_token=token).json()["messages"]]
    assert "Up to which wind may we lift?" in texts
