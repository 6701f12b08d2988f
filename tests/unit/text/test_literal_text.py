"""Texts of others that people read as they are."""

import pytest

from parlour.text.literal_text import escape_markdown, show_invisible


@pytest.mark.parametrize(
    ("line", "escaped"),
    [
        ("# North", r"\# North"),
        ("  - north", r"  \- north"),
        ("12. north", r"12\. north"),
        ("C4 - not C5 # 2. level", "C4 - not C5 # 2. level"),
        ("[a](b 'c') <d> &lt; `e` | f", r"\[a\](b 'c') \<d\> \&lt; \`e\` \| f"),
        ("https://a.example", r"https:\//a.example"),
        ("", ""),
    ],
)
def test_a_line_is_escaped_where_markdown_would_read_it(line: str, escaped: str) -> None:
    assert escape_markdown(line) == escaped


def test_invisible_characters_are_shown_and_letters_stay() -> None:
    assert show_invisible("pay\u202e 5\n\u200bहाँ é 漢 \U0001f600") == "pay<U+202E> 5\n<U+200B>हाँ é 漢 \U0001f600"
