"""What the intake queue carries: who is kept in order, what goes together, and that nothing is lost on the way."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter

import pytest

from parlour.channels.envelope import DeliveryStatus, Envelope
from parlour.channels.intake_messages import (
    MAX_SEPARATE_STATUSES,
    file_retry_message,
    is_file_retry,
    pack_envelopes,
    unpack_envelopes,
)
from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import canonical_json

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
WROTE = Envelope(
    "whatsapp", "whatsapp_cloud", "whatsapp:1", "+919800000001", "wamid.1", "text", "Hello", None, "", NOW, {}
)


def told(number: int, status: DeliveryStatus = "delivered", to: str = "whatsapp:1") -> Envelope:
    return replace(WROTE, to=to, provider_message_id=f"wamid.{number}", kind="status", text="", status=status)


def test_a_few_statuses_go_as_they_are() -> None:
    given = [WROTE, *(told(number) for number in range(MAX_SEPARATE_STATUSES))]
    packed = pack_envelopes(given)
    assert [message.body for message in packed] == [one.to_json() for one in given]
    assert [message.group_id for message in packed] == [one.group_id for one in given]


def test_thousands_of_statuses_are_hundreds_of_messages_and_none_is_lost() -> None:
    wrote = [replace(WROTE, provider_message_id=f"m{number}") for number in range(3)]
    statuses = [told(number, to=f"whatsapp:{number % 2}") for number in range(20_000)]
    packed = pack_envelopes([*statuses[:9_000], *wrote, *statuses[9_000:]])

    assert len(packed) == 3 + 400
    assert [unpack_envelopes(message.body) for message in packed[:3]] == [[one] for one in wrote]
    assert {message.group_id for message in packed[3:]} == {"statuses|whatsapp:0", "statuses|whatsapp:1"}
    assert max(len(canonical_json(message.body)) for message in packed) < 64 * 1024
    found = [one for message in packed[3:] for one in unpack_envelopes(json.loads(canonical_json(message.body)))]
    by_message = attrgetter("provider_message_id")
    assert sorted(found, key=by_message) == sorted(statuses, key=by_message)


def test_the_same_statuses_again_are_the_same_messages_and_others_are_not() -> None:
    def names(*given: Envelope) -> list[str]:
        return [message.deduplication_id for message in pack_envelopes(given)]

    many = [told(number) for number in range(60)]
    assert names(*many) == names(*many)
    assert not set(names(*many)) & set(names(*(replace(one, status="read") for one in many)))


def test_a_file_that_waits_holds_nobody_up() -> None:
    waiting = file_retry_message(WROTE)
    assert is_file_retry(waiting.body)
    assert not is_file_retry(WROTE.to_json())
    assert unpack_envelopes(waiting.body) == [WROTE]
    assert waiting.group_id != WROTE.group_id
    assert waiting.deduplication_id != WROTE.deduplication_id


@pytest.mark.parametrize("statuses", [None, "x", [7], [{}]])
def test_nonsense_is_told(statuses: object) -> None:
    with pytest.raises(MalformedPayload):
        unpack_envelopes({"statuses": statuses})  # type: ignore[dict-item]
