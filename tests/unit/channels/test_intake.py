"""What the intake queue carries: who is kept in order, what goes together, and that nothing is lost on the way."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from operator import attrgetter

import pytest

from parlour.channels.envelope import Envelope, Status
from parlour.channels.intake import FEW_STATUSES, apart, is_apart, pack, unpack
from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import canonical

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
WROTE = Envelope(
    "whatsapp", "whatsapp_cloud", "whatsapp:1", "+919800000001", "wamid.1", "text", "Hello", None, "", NOW, {}
)


def told(number: int, status: Status = "delivered", to: str = "whatsapp:1") -> Envelope:
    return replace(WROTE, to=to, provider_message_id=f"wamid.{number}", kind="status", text="", status=status)


def test_a_few_statuses_go_as_they_are() -> None:
    given = [WROTE, *(told(number) for number in range(FEW_STATUSES))]
    packed = pack(given)
    assert [message.body for message in packed] == [one.to_json() for one in given]
    assert [message.group for message in packed] == [one.group for one in given]


def test_thousands_of_statuses_are_hundreds_of_messages_and_none_is_lost() -> None:
    wrote = [replace(WROTE, provider_message_id=f"m{number}") for number in range(3)]
    statuses = [told(number, to=f"whatsapp:{number % 2}") for number in range(20_000)]
    packed = pack([*statuses[:9_000], *wrote, *statuses[9_000:]])

    assert len(packed) == 3 + 400
    assert [unpack(message.body) for message in packed[:3]] == [[one] for one in wrote]
    assert {message.group for message in packed[3:]} == {"statuses|whatsapp:0", "statuses|whatsapp:1"}
    assert max(len(canonical(message.body)) for message in packed) < 64 * 1024
    found = [one for message in packed[3:] for one in unpack(json.loads(canonical(message.body)))]
    by_message = attrgetter("provider_message_id")
    assert sorted(found, key=by_message) == sorted(statuses, key=by_message)


def test_the_same_statuses_again_are_the_same_messages_and_others_are_not() -> None:
    def names(*given: Envelope) -> list[str]:
        return [message.deduplication for message in pack(given)]

    many = [told(number) for number in range(60)]
    assert names(*many) == names(*many)
    assert not set(names(*many)) & set(names(*(replace(one, status="read") for one in many)))


def test_a_file_that_waits_holds_nobody_up() -> None:
    waiting = apart(WROTE)
    assert is_apart(waiting.body)
    assert not is_apart(WROTE.to_json())
    assert unpack(waiting.body) == [WROTE]
    assert waiting.group != WROTE.group
    assert waiting.deduplication != WROTE.deduplication


@pytest.mark.parametrize("statuses", [None, "x", [7], [{}]])
def test_nonsense_is_told(statuses: object) -> None:
    with pytest.raises(MalformedPayload):
        unpack({"statuses": statuses})  # type: ignore[dict-item]
