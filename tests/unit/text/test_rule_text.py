"""Rules read the beginning of a text, without long runs of blank lines."""

import pytest

from parlour.text.rule_text import MAX_RULE_CHARS, rule_text


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("one\ntwo\n\nthree", "one\ntwo\n\nthree"),
        ("one\n\n\n\ntwo", "one\n\ntwo"),
        ("one\r\n\r\n\r\n\r\ntwo\rthree", "one\n\ntwo\nthree"),
        ("one\n \t\n\u00a0\n  two", "one\n\n  two"),
        ("one  \n two", "one  \n two"),
        ("", ""),
    ],
)
def test_runs_of_blank_lines_become_one(text: str, read: str) -> None:
    assert rule_text(text) == read


def test_a_long_text_is_read_up_to_the_limit() -> None:
    assert rule_text("a" * (MAX_RULE_CHARS + 1)) == "a" * MAX_RULE_CHARS
