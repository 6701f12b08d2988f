"""The main job on real parts, many times at once: one turn for each message, one reply for each turn, in order."""

import json
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx2

from local import emulator
from local.stack_client import sample_payload
from parlour.channels import gupshup_webhook
from tests.end_to_end.world import World

_STORED = """
SELECT count(*) FROM messages m JOIN sessions s ON s.id = m.session_id JOIN users u ON u.id = s.user_id
 WHERE u.phone = %s AND m.direction = 'inbound'
"""

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)

QUESTIONS = (
    "How wide is the crack at C4?",
    "When does the crane come?",
    "Up to which wind may we lift?",
    "Who looks after the crack at C4?",
    "When is the progress meeting?",
)


def turns_of(world: World, number: str) -> list[dict[str, Any]]:
    """The turns of a phone's one session, oldest first."""
    session = world.value("SELECT s.id FROM sessions s JOIN users u ON u.id = s.user_id WHERE u.phone = %s", number)
    return world.talk.list_turns(limit=100, session_id=str(session))[::-1]


def test_the_same_webhook_a_thousand_times_is_one_message_one_turn_one_reply(world: World) -> None:
    number, payload = world.phone(), sample_payload("inbound_gupshup_text")
    payload["payload"]["source"] = payload["payload"]["sender"]["phone"] = number.removeprefix("+")
    with httpx2.Client(timeout=60) as client, ThreadPoolExecutor(50) as fifty:
        answers = fifty.map(lambda _: client.post(world.stack.addresses.webhook, json=payload), range(1_000))
        assert {answer.status_code for answer in answers} == {200}
    world.settle()
    again(world, payload, times=20)
    world.settle()
    (turn,) = turns_of(world, number)
    stored = world.value(_STORED, number)
    assert (stored, len(turn["input_messages"]), len(world.talk.phone_messages(number))) == (1, 1, 1)


def again(world: World, payload: dict[str, Any], times: int) -> None:
    """The same message on the intake queue, past the queue's own de-duplication, which ends after five minutes."""
    client = emulator.client("sqs", world.stack.addresses.emulator)
    url = next(url for url in client.list_queues()["QueueUrls"] if "intake.fifo" in url)
    (envelope,) = gupshup_webhook.parse(payload, NOW)
    for _ in range(times):
        client.send_message(
            QueueUrl=url,
            MessageBody=json.dumps(envelope.to_json()),
            MessageGroupId=uuid.uuid4().hex,
            MessageDeduplicationId=uuid.uuid4().hex,
        )


def test_twenty_sessions_with_ten_messages_each_are_answered_in_order(world: World) -> None:
    numbers = [world.phone() for _ in range(20)]
    written: list[str] = []
    with ThreadPoolExecutor(20) as twenty:
        for turn in range(10):
            text = f"{QUESTIONS[turn % 5]} ({turn})"
            payloads = [sample_payload("inbound_gupshup_text", text=text, sender=number) for number in numbers]
            assert set(twenty.map(deliver(world), payloads)) == {200}
            written.append(text)
    world.settle(240)
    for number in numbers:
        turns = turns_of(world, number)
        assert [message["text"] for turn in turns for message in turn["input_messages"]] == written
        assert {turn["state"] for turn in turns} == {"answered"}
        assert len(world.talk.phone_messages(number)) == len(turns)


def deliver(world: World) -> Any:
    def post(payload: dict[str, Any]) -> int:
        return httpx2.post(world.stack.addresses.webhook, json=payload, timeout=60).status_code

    return post
