"""One key for one thing, whatever a model calls it; and what is never kept under any."""

import pytest

from parlour.memory.facts.keys import fits, key_of
from parlour.memory.facts.rules import is_fuller, is_same
from parlour.text.sensitive import is_sensitive


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Full Name", "name"),
        ("home", "city"),
        ("phone-number", "phone"),
        ("preference.Seat", "preference.seat"),
        ("favourite_colour", "preference.colour"),
        ("likes tea", "preference.tea"),
        ("family.Wife", "family.wife"),
        ("about.email", "email"),
        ("shoe size", "about.shoe_size"),
        ("preference", None),
        ("...", None),
    ],
)
def test_other_names_are_the_same_key(written: str, key: str | None) -> None:
    assert key_of(written) == key


def test_a_value_has_the_shape_of_its_key() -> None:
    assert fits("email", "a@b.org")
    assert not fits("email", "Acme")
    assert not fits("name", "4711")
    assert fits("about.anything", "4711")


@pytest.mark.parametrize(
    ("key", "value", "sensitive"),
    [
        ("about.card", "4111 1111 1111 1111", True),
        ("about.number", "2341 2341 2346", True),
        ("about.number", "2341 2341 2345", False),
        ("about.wifi_password", "hunter2", True),
        ("about.bank_account", "0012", True),
        ("address", "MG Road, PIN code 411001", False),
        ("phone", "+91 98765 43210", False),
    ],
)
def test_secrets_and_identity_papers_are_told_apart(key: str, value: str, *, sensitive: bool) -> None:
    assert is_sensitive(key, value) is sensitive


def test_values_are_compared_by_what_they_say() -> None:
    assert is_same("3rd May", "May 3")
    assert is_same("Gold plan", "gold")
    assert is_same("+91 98765 43210", "9876543210")
    assert is_same("two kids", "2 kids")
    assert not is_same("likes tea", "dislikes tea")
    assert not is_same("Gold", "Gold Plus")
    assert is_fuller("Pune, Maharashtra", "pune")
    assert not is_fuller("dislikes green tea", "likes tea")
