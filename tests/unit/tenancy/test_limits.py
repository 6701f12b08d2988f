"""Which buckets a request takes from."""

import re
from pathlib import Path
from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.tenancy.limits import (
    DEFAULT_LIMITS,
    Limits,
    hash_address,
    message_limits,
    messaging_limits,
    request_limits,
    visitor_limits,
)

USER, BINDING = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize("settings", [{}, {"visitor_per_minute": None}])
def test_what_a_binding_does_not_say_is_the_default(settings: JsonObject) -> None:
    assert Limits.from_settings(settings) == DEFAULT_LIMITS


def test_a_binding_says_what_it_takes() -> None:
    limits = Limits.from_settings({"visitor_per_minute": 3, "anonymous_share": 0.5})
    assert (limits.visitor_per_minute, str(limits.anonymous_part)) == (3, "0.5")
    assert limits.binding_per_minute == DEFAULT_LIMITS.binding_per_minute


def test_the_narrowest_bucket_comes_first() -> None:
    assert [one.scope for one in message_limits(DEFAULT_LIMITS, USER, BINDING)] == ["visitor", "binding"]
    by_address = message_limits(DEFAULT_LIMITS, USER, BINDING, "x")
    assert [one.scope for one in by_address] == ["visitor", "address", "binding"]
    assert [one.scope for one in visitor_limits(DEFAULT_LIMITS, BINDING, "x")] == ["address", "new_visitors"]
    assert [one.scope for one in visitor_limits(DEFAULT_LIMITS, BINDING, "")] == ["new_visitors"]


def test_the_web_and_messaging_share_no_bucket_of_a_binding() -> None:
    *_, web = message_limits(DEFAULT_LIMITS, USER, BINDING, "x")
    *_, messaging = messaging_limits(DEFAULT_LIMITS, USER, BINDING)
    assert web.key != messaging.key
    assert web.per_minute == messaging.per_minute == DEFAULT_LIMITS.binding_per_minute


@pytest.mark.parametrize(("per_minute", "new_visitors"), [(120, 10), (6_000, 500), (1, 1)])
def test_an_address_brings_new_visitors_in_proportion(per_minute: int, new_visitors: int) -> None:
    by_address, _ = visitor_limits(Limits(address_per_minute=per_minute), BINDING, "x")
    assert by_address.per_minute == new_visitors


def test_an_address_of_ipv6_is_one_with_its_64() -> None:
    network = {hash_address("k" * 32, f"2001:db8:1:2:{n:x}::{n:x}") for n in range(1, 50)}
    assert len(network) == 1
    assert network == {hash_address("k" * 32, "2001:0DB8:0001:0002::1%eth0")}
    assert hash_address("k" * 32, "2001:db8:1:3::1") not in network
    assert hash_address("k" * 32, "::ffff:192.0.2.1") == hash_address("k" * 32, "192.0.2.1")
    assert hash_address("k" * 32, "192.0.2.1") != hash_address("k" * 32, "192.0.2.2")


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_a_loopback_address_tells_nobody_apart(address: str) -> None:
    assert hash_address("k" * 32, address) == ""


def test_an_address_is_hashed_with_a_key() -> None:
    first, second = hash_address("k" * 32, "192.0.2.1"), hash_address("l" * 32, "192.0.2.1")
    assert len(first) == 32
    assert "192" not in first
    assert first != second
    assert first == hash_address("k" * 32, "192.0.2.1")


def test_windows_that_poll_at_their_fastest_are_never_refused() -> None:
    events = (Path(__file__).parents[3] / "console/src/api/events.ts").read_text("utf-8")
    (milliseconds,) = re.findall(r"const POLL_MS = \{ first: (\d+)", events)
    (bucket,) = request_limits(USER)
    assert bucket.per_minute >= 5 * 60_000 / int(milliseconds)
