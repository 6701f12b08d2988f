import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.infra.errors import InvalidRequest
from parlour.tenancy.labels import clean_label, validate_identifier, validate_label


def test_a_label_loses_the_spaces_around_it() -> None:
    assert validate_label("name", "  Site office ") == "Site office"


@pytest.mark.parametrize("text", ["", "   ", "a\x00b", "a\ud800", "line\nline", "a\u2028b", "x" * 201])
def test_a_label_that_nobody_can_read_is_refused_by_its_field(text: str) -> None:
    with pytest.raises(InvalidRequest, match="name"):
        validate_label("name", text)


MALAYALAM = "\u0d05\u0d30\u0d4d\u200d\u0d1c\u0d41\u0d28\u0d4d\u200d"
"""Arjun, written with joiners."""


@pytest.mark.parametrize("name", [MALAYALAM, "Asha \U0001f469\u200d\U0001f527", "Zoë"])
def test_a_name_keeps_the_joiners_it_is_written_with(name: str) -> None:
    assert validate_label("name", name) == name
    assert clean_label(name) == name


@pytest.mark.parametrize("text", ["", "a\x00", "a\u200d", "\ud800", "x" * 256])
def test_an_identifier_is_printable_throughout(text: str) -> None:
    with pytest.raises(InvalidRequest, match="subject"):
        validate_identifier("subject", text)


def test_an_identifier_is_kept_as_it_is() -> None:
    assert validate_identifier("subject", " auth0|" + "x" * 248) == " auth0|" + "x" * 248


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(None, None), ("", None), ("\x00\n", None), (" As\x00ha\n", "Asha"), ("a\ud800", "a"), ("x" * 300, "x" * 200)],
)
def test_of_a_name_that_was_sent_the_readable_part_is_kept(sent: str | None, kept: str | None) -> None:
    assert clean_label(sent) == kept


@given(st.text())
def test_what_is_kept_can_be_stored(text: str) -> None:
    kept = clean_label(text)
    assert kept is None or ("\x00" not in kept and kept.encode())
