"""One key for one thing, whatever a model calls it; and what is never kept under any."""

import pytest

from parlour.memory.facts.fact_keys import has_several_values, is_critical, is_valid_value, normalize_key, proposed_key
from parlour.memory.facts.merge_rules import is_more_specific, is_same_value
from parlour.text.sensitive_data import is_sensitive


@pytest.mark.parametrize(
    ("written", "key"),
    [
        ("Full Name", "name"),
        ("current city", "city"),
        ("pet.Dog", "family.dog"),
        ("about.spoken_languages", "about.languages"),
        ("preference.address", "preference.address"),
        ("preference.pays_by", "pays_by"),
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
    assert normalize_key(written) == key


@pytest.mark.parametrize(
    ("written", "key"),
    [("employer", "company"), ("about.shoe size", "about.shoe_size"), ("shoe size", None), ("about", None), ("", None)],
)
def test_a_model_proposes_known_keys_only(written: str, key: str | None) -> None:
    assert proposed_key(written) == key


def test_keys_say_whether_they_hold_several_values_and_are_critical() -> None:
    assert all(map(has_several_values, ("family.sister", "allergy", "about.hobby")))
    assert not any(map(has_several_values, ("city", "about.job_title")))
    assert all(map(is_critical, ("health.knee", "phone", "pays_by")))
    assert not any(map(is_critical, ("about.hobby", "city")))


def test_a_value_has_the_shape_of_its_key() -> None:
    assert is_valid_value("email", "a@b.org")
    assert not is_valid_value("email", "Acme")
    assert not is_valid_value("name", "4711")
    assert is_valid_value("about.anything", "4711")


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
    assert is_same_value("3rd May", "May 3")
    assert is_same_value("Gold plan", "gold")
    assert is_same_value("+91 98765 43210", "9876543210")
    assert is_same_value("two kids", "2 kids")
    assert not is_same_value("likes tea", "dislikes tea")
    assert not is_same_value("Gold", "Gold Plus")
    assert is_more_specific("Pune, Maharashtra", "pune")
    assert not is_more_specific("dislikes green tea", "likes tea")
