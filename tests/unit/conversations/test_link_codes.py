"""The code that proves a number to be somebody's."""

from uuid import UUID

import pytest

from parlour.channels.templates import Template
from parlour.conversations.linking import link_codes
from parlour.infra.errors import InvalidRequest

ONE, OTHER = UUID(int=1), UUID(int=2)


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("+919800000001", "+919800000001"),
        (" +91 98000-00001 ", "+919800000001"),
        ("0044 (20) 7946 0958", "+442079460958"),
        ("+1.202.555.0143", "+12025550143"),
    ],
)
def test_a_number_may_be_written_as_people_write_it(written: str, number: str) -> None:
    assert link_codes.parse_phone_number(written) == number


@pytest.mark.parametrize(
    "written", ["", "9800000001", "+91", "+0123456789", "+91 98000 00001 22 33 44", "phone", "+91980000000x", "+९१९८"]
)
def test_what_is_no_number_with_a_country_code_is_refused(written: str) -> None:
    with pytest.raises(InvalidRequest, match="country code"):
        link_codes.parse_phone_number(written)


@pytest.mark.parametrize(("drawn", "code"), [(0, "000000"), (7, "000007"), (999_999, "999999")])
def test_every_code_has_six_digits(drawn: int, code: str) -> None:
    assert link_codes.generate_code(lambda below: min(drawn, below - 1)) == code


def test_a_code_is_drawn_from_a_million() -> None:
    assert link_codes.generate_code(lambda below: below - 1) == "999999"
    assert len({link_codes.generate_code(lambda below, at=at: at % below) for at in range(2_000)}) == 2_000  # type: ignore[misc]


SECRET = "s" * 40


def test_a_seal_is_of_one_code_of_one_link_under_one_secret() -> None:
    seal = link_codes.hash_code(SECRET, ONE, "123456")
    assert link_codes.hashes_equal(seal, link_codes.hash_code(SECRET, ONE, " 123 456 "))
    for other in (
        link_codes.hash_code(SECRET, ONE, "123457"),
        link_codes.hash_code(SECRET, OTHER, "123456"),
        link_codes.hash_code("o" * 40, ONE, "123456"),
    ):
        assert not link_codes.hashes_equal(seal, other)
    assert b"123456" not in seal


def test_what_is_sent_says_the_code_first_and_fits_a_template() -> None:
    words = link_codes.render_code_message("000007", "Site desk")
    assert words.startswith("000007 ")
    assert "10 minutes" in words
    assert Template("news", "t-1", "en", "Your code: {{1}}", "reply").fill([words]).text == f"Your code: {words}"
