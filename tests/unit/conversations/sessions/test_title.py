"""What a session is called after the first thing that its user said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.conversations.sessions.title import MAX_TITLE_CHARS, make_title


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("what is the termination clause?", "What is the termination clause?"),
        ("Hi there! Hello, can you look at site_plan_v2.pdf for me", "Can you look at site_plan_v2.pdf for me"),
        ("Good morning team,\nthe crane at C4 is stuck. Please call Ravi.", "The crane at C4 is stuck"),
        ("hey", ""),
        ("Hello!!! 🙂", ""),
        ("ok", ""),
        ("Hidden cracks in the slab", "Hidden cracks in the slab"),
        ("नमस्ते, मेरा भुगतान कब आएगा?", "मेरा भुगतान कब आएगा?"),
        ("வணக்கம். பணம் எப்போது வரும்?", "பணம் எப்போது வரும்?"),
        ("你好\uff01合同什么时候到期\uff1f谢谢", "合同什么时候到期\uff1f"),
        ("> **Delay** notice: 14 days", "Delay notice: 14 days"),
        (
            "Dr. Rao has approved the invoice for Rs. 45,000 on Monday. Please pay.",
            "Dr. Rao has approved the invoice for Rs. 45,000 on Monday",
        ),
        ("नमस्ते। डॉ. राव ने रु. 45,000 मंज़ूर किए। कल मिलते हैं।", "डॉ. राव ने रु. 45,000 मंज़ूर किए"),
        ("", ""),
        ("12\n\nThe invoice is wrong.", "The invoice is wrong"),
    ],
)
def test_it_is_the_first_sentence_that_says_something(text: str, title: str) -> None:
    assert make_title(text) == title


def test_a_long_one_ends_with_a_whole_word() -> None:
    title = make_title("Please compare the termination clauses of all three subcontracts with the head contract")
    assert title == "Please compare the termination clauses of all three…"


@pytest.mark.parametrize("letter", ["भी", "கு", "న్", "a\u0308"])
def test_a_script_without_spaces_is_cut_between_letters(letter: str) -> None:
    title = make_title(letter * 50).lower()
    assert len(title) <= MAX_TITLE_CHARS
    assert title.removesuffix("…") == letter * (len(title) // len(letter))


@given(st.text(max_size=300))
def test_whatever_is_written_the_title_is_one_short_readable_line(text: str) -> None:
    title = make_title(text)
    assert len(title) <= MAX_TITLE_CHARS
    assert title == title.strip()
    assert not any(one in title for one in "\n\r\t\0\x1b")
    assert title == make_title(text)
