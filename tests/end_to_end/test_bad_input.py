"""What nobody should send: answered as the protocol says, logged, counted; nothing lost, no 500, no poison."""

from typing import Any

import pytest

from local import logs
from local.stack_client import sample_payload, wait_until
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
    return wait_until(lambda: world.talk.phone_messages(number), "the reply", 60)


def test_an_unknown_number_behind_a_good_token_is_accepted_counted_and_stored_nowhere(world: World) -> None:
    payload = {**sample_payload("inbound_gupshup_text"), "app": "NobodysApp"}
    assert world.talk.post_webhook(payload) == 200
    world.settle()
    stored = world.value(
        "SELECT count(*) FROM messages WHERE provider_message_id LIKE %s", "%" + payload["payload"]["id"]
    )
    assert stored == 0
    counted = [
        line.text for line in logs.read_log_lines(world.stack.addresses.emulator) if '"UnknownNumber"' in line.text
    ]
    assert counted


@pytest.mark.parametrize(
    "text",
    ["How wide is the crack\x00 at C4?", "How wide is the crack \ud800at C4?"],
    ids=["NUL", "lone surrogate"],
)
def test_what_the_database_cannot_hold_is_cleaned_and_answered(world: World, text: str) -> None:
    number = world.phone()
    assert world.talk.post_webhook(sample_payload("inbound_gupshup_text", text=text, sender=number)) == 200
    answered(world, number)
    body = world.value(_BODY, number)
    assert body == "How wide is the crack at C4?"
