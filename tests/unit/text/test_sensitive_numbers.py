"""Identity numbers by their check digits; a phone number that has one by chance is none."""

import random

import pytest
from stdnum import verhoeff

from parlour.text.sensitive_data import is_sensitive

RANDOM = random.Random(7)


def phone_with_check_digit() -> str:
    return next(
        number
        for number in (f"91{RANDOM.randrange(6_000_000_000, 10_000_000_000)}" for _ in range(10_000))
        if verhoeff.is_valid(number)
    )


@pytest.mark.parametrize("number", [phone_with_check_digit() for _ in range(20)])
def test_a_mobile_number_with_an_aadhaar_check_digit_is_a_phone_unless_grouped(number: str) -> None:
    assert not is_sensitive("phone", number)
    assert not is_sensitive("phone", f"+{number[:2]} {number[2:7]} {number[7:]}")
    assert is_sensitive("about.number", f"{number[:4]} {number[4:8]} {number[8:]}")
    assert is_sensitive("about.number", f"my aadhaar is {number}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("234123412346", True),
        ("2341-2341-2346", True),
        ("२३४१ २३४१ २३४६", True),
        ("2341\u200b2341\u200b2346", True),
        ("234123412345", False),
        ("134123412346", False),
        ("4111111111111111", True),
        ("4111111111111112", False),
        ("DE89370400440532013000", True),
        ("DE89370400440532013001", False),
        ("ABCPE1234F", True),
    ],
)
def test_check_digits_decide_what_is_an_identity_number(value: str, *, expected: bool) -> None:
    assert is_sensitive("about.number", value) is expected
