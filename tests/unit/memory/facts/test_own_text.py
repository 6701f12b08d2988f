"""The user's own words of a message are what they neither quote, forward nor paste."""

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
