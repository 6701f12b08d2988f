"""Which buckets a request takes from."""

from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.tenancy.limits import DEFAULT_LIMITS, Limits, hash_address, message_limits, visitor_limits

USER, BINDING = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize("settings", [{}, {"visitor_per_minute": None}])
def test_what_a_binding_does_not_say_is_the_default(settings: JsonObject) -> None:
    assert Limits.from_settings(settings) == DEFAULT_LIMITS


def test_a_binding_says_what_it_takes() -> None:
    limits = Limits.from_settings({"visitor_per_minute": 3, "anonymous_share": 0.5})
    assert (limits.visitor_per_minute, str(limits.anonymous_part)) == (3, "0.5")
    assert limits.binding_per_minute == DEFAULT_LIMITS.binding_per_minute


def test_a_message_and_a_new_visitor_take_from_different_buckets() -> None:
    assert [one.scope for one in message_limits(DEFAULT_LIMITS, USER, BINDING)] == ["visitor", "binding"]
    assert [one.scope for one in message_limits(DEFAULT_LIMITS, USER, BINDING, "x")] == [
        "visitor",
        "binding",
        "address",
    ]
    assert [one.scope for one in visitor_limits(DEFAULT_LIMITS, BINDING, "x")] == ["address", "new_visitors"]


def test_an_address_is_hashed_with_a_key() -> None:
    first, second = hash_address("k" * 32, "192.0.2.1"), hash_address("l" * 32, "192.0.2.1")
    assert len(first) == 32
    assert "192" not in first
    assert first != second
    assert first == hash_address("k" * 32, "192.0.2.1")
