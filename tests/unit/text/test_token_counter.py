"""Tokens are counted by model and script, and texts are cut without half a character; our tags are ours alone."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.prompts.assembly.segment import escape_untrusted
from parlour.text import token_counter
from parlour.text.token_counter import TokenCounter


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("The slab", "latin"),
        ("", "latin"),
        ("1234", "latin"),
        ("👷🏽 ok", "latin"),
        ("नींव का निरीक्षण", "devanagari"),
        ("அடித்தளம்", "tamil"),
        ("基礎", "han"),
        ("Фундамент", "cyrillic"),
        ("Crane का निरीक्षण हुआ", "devanagari"),
    ],
)
def test_a_text_is_counted_by_the_script_that_most_of_it_is_in(text: str, script: str) -> None:
    assert token_counter.script_of(text) == script


def test_what_is_learned_of_one_script_says_nothing_of_another() -> None:
    learned = TokenCounter({"devanagari": 2.0})
    assert learned.count("नींव") == 2 * token_counter.count_plain_tokens("नींव")
    assert learned.count("slab") == token_counter.count_tokens("slab")


@given(st.text(max_size=500), st.integers(0, 200))
def test_shortened_text_fits_and_is_a_beginning(text: str, most: int) -> None:
    short = token_counter.truncate_to_tokens(text, most)
    assert token_counter.count_tokens(short) <= max(most, token_counter.count_tokens(text[:1]))
    assert text.startswith(short)


@given(st.text(alphabet="<>/ :parlouPARLOUR\ntail", max_size=60))
def test_nobody_else_writes_our_tags_however_they_are_spelled(text: str) -> None:
    safe = escape_untrusted(text)
    assert not re.search(r"<\s*/?\s*parlour\s*:", safe, re.IGNORECASE)
    assert escape_untrusted(safe) == safe
