"""By which words a text is found again wherever it is repeated, and by which it is not."""

import json
import re

import pytest

from parlour.erasure import quotations


@pytest.mark.parametrize(
    ("text", "told_by"),
    [
        ("My account is 50100234567", ["50100234567"]),
        ("write to asha.rao@example.org please", ["asha.rao@example.org"]),
        ("my daughter Anaya starts school", ["Anaya"]),
        ("see https://example.org/a", ["https://example.org/a"]),
        ("ok, thanks", []),
        ("Please call me. Tomorrow is fine", []),
        ("I bought 3 of them", []),
        ("PAN is ABCDE1234F.", ["ABCDE1234F"]),
        ("मेरा खाता ५०१००२३४ है", ["५०१००२३४"]),
    ],
)
def test_words_that_few_others_would_use_tell_of_a_text(text: str, told_by: list[str]) -> None:
    assert quotations.distinctive_terms(text) == told_by


def test_whole_lines_come_first_and_each_once() -> None:
    found = quotations.quote_search_terms("the gate code is 4711X\nyes\nthe gate code is 4711X")
    assert found == ["the gate code is 4711X", "4711X"]


def test_a_text_without_anything_of_its_own_is_told_by_nothing() -> None:
    assert quotations.quote_search_terms("yes please") == []


def test_what_is_looked_for_is_bounded_however_long_the_text() -> None:
    assert (
        len(quotations.quote_search_terms("\n".join(f"line number {n} of a very long text" for n in range(500))))
        == quotations.MAX_SEARCH_TERMS
    )
    assert max(map(len, quotations.quote_search_terms("x" * 5_000))) <= 5_000


def test_patterns_take_signs_of_like_as_they_are_and_find_what_json_escapes() -> None:
    plain, escaped, twice = quotations.ilike_patterns(['50%_off "now"'])
    assert plain == '%50\\%\\_off "now"%'
    assert escaped == '%50\\%\\_off \\\\"now\\\\"%'
    result = json.dumps({"content": json.dumps({"text": '50%_off "now"'})})
    for pattern, text in ((escaped, '50%_off \\"now\\"'), (twice, result)):
        assert re.sub(r"\\(.)", r"\1", pattern).strip("%") in text


def test_words_that_something_else_says_too_tell_of_nothing() -> None:
    assert quotations.terms_not_in(["Anaya", "4711X"], ["It was anaya.", "4711"]) == ["4711X"]
