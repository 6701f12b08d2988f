"""The user's own words of a message are what they neither quote, forward nor paste."""

import time

import pytest

from parlour.memory.facts.own_text import own_text


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("Hello", "Hello"),
        ("See below\n> I live in Goa", "See below"),
        ("FYI\n---- Forwarded message ----\nI live in Goa", "FYI"),
        ("Look:\n```\nmy name is X\n```", "Look:"),
        ('My name is "Ravi"', 'My name is "Ravi"'),
        ('It reads "the user is called Mallory"', "It reads"),
        ("On Mon, 2 Mar 2026 Asha wrote:\nI live in Goa", ""),
        ("Fwd: I live in Delhi", ""),
        ("12.03.2025, 10:00 pm - Priya: My name is Priya", ""),
        ("Am 3. März schrieb Hans:\nich heisse Hans", ""),
        ("El lun, 3 mar 2025, Juan (<j@x.es>) escribió:\nMe llamo Juan", ""),
    ],
)
def test_own_text_leaves_out_what_is_quoted_or_forwarded(body: str, own: str) -> None:
    assert own_text(body) == own


def test_own_text_of_a_paste_is_what_stands_around_it() -> None:
    pasted = "\n\n".join(["Please read this.", "I live in Goa. " * 120, "Thanks, Ravi"])
    assert own_text(pasted) == "Please read this.\nThanks, Ravi"


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ("See below\n\n\n   > I live in Goa", "See below"),
        ("FYI\n \n \t[ Forwarded ]\nI live in Goa", "FYI"),
        ("FYI\n\u00a0Fwd : I live in Goa", "FYI"),
        ("On Mon, 2 Mar 2026\r\nAsha wrote:  \r\nI live in Goa", ""),
        ("My address:\n\n\n\nHouse 7, Pune", "My address:\n\nHouse 7, Pune"),
    ],
)
def test_own_text_reads_over_blank_lines_and_indents(body: str, own: str) -> None:
    assert own_text(body) == own


def test_own_text_of_a_long_message_reaches_to_its_end() -> None:
    message = "\n\n".join(["I moved to Pune.", "The lift was full again. " * 300, "Ravi"])
    assert 7_000 < len(message) < 8_000
    assert own_text(message) == "I moved to Pune.\nRavi"


@pytest.mark.parametrize("unit", ["\n", "\r\n", " \n", "\n\u2028", "> \n", "on x\n", "\t", "[ ", "'a ", "\u201ea "])
def test_own_text_of_a_hostile_message_takes_no_time(unit: str) -> None:
    message = ("a" + unit * 8_000)[:7_999] + "b"
    begun = time.process_time()
    own_text(message)
    assert time.process_time() - begun < 0.5
