"""Templates: which placeholders a text has, and which texts a pack may have."""

import pytest

from parlour.channels.templates import FilledTemplate, Template, find_text_problem


@pytest.mark.parametrize(
    ("text", "values", "filled"),
    [
        ("We are back.", [], "We are back."),
        ("{{2}} is on {{1}}.", ["Monday", "The pour"], "The pour is on Monday."),
        ("{{day}}: {{what}}, on {{ day }}.", ["Monday", "the pour"], "Monday: the pour, on Monday."),
        ("Hello {{1}}", ["{{1}} {{2}}"], "Hello {{1}} {{2}}"),
        (" ".join(f"{{{{{number}}}}}" for number in range(1, 12)), [*"abcdefghijk"], "a b c d e f g h i j k"),
    ],
)
def test_a_text_is_filled_in_the_order_of_its_placeholders(text: str, values: list[str], filled: str) -> None:
    made = Template("news", "n-1", "en", text, "inbox").fill(values)
    assert made.text == filled
    assert FilledTemplate.from_json(made.to_json(), made.text) == made


@pytest.mark.parametrize(
    ("text", "purpose", "problem"),
    [
        ("Hello {{1}}, on {{2}}.", "inbox", None),
        ("Hello {{name}}, on {{day}}.", "inbox", None),
        ("News: {{1}}", "reply", None),
        ("Hello {{2}}.", "inbox", "number its placeholders"),
        ("Hello {{0}}, {{1}}.", "inbox", "number its placeholders"),
        ("Hello {{1}}, on {{day}}.", "inbox", "number its placeholders"),
        ("Hello {{Name}}.", "inbox", "write a placeholder as"),
        ("{{1}} {{2}}", "question", "exactly one placeholder"),
    ],
)
def test_a_text_has_numbered_or_named_placeholders(text: str, purpose: str, problem: str | None) -> None:
    found = find_text_problem(text, "inbox" if purpose == "inbox" else "reply" if purpose == "reply" else "question")
    assert (problem in found) if problem and found else found == problem
