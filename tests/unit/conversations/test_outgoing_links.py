"""Links to hosts that nobody allowed are text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.conversations.outgoing_links import LinkFilter, filter_links

ALLOWED = frozenset({"northbank.example", "erp.northbank.example:8443"})

FOREIGN = [
    ("See https://evil.example/?q=secret now", "See evil.example/?q=secret now"),
    ("![x](https://evil.example/p.png?d=secret)", "x (evil.example/p.png?d=secret)"),
    ('[the plan](https://evil.example/a "title")', "the plan (evil.example/a)"),
    ("[a](//evil.example/x)", "a (evil.example/x)"),
    ("[a](javascript:alert)", "a (alert)"),
    ("[a](<https://evil.example/x>)", "a (evil.example/x)"),
    ("<https://evil.example/x>", "<evil.example/x>"),
    ("HTTPS://EVIL.example/x", "EVIL.example/x"),
    ("https://northbank.example.evil.example/", "northbank.example.evil.example/"),
    ("https://northbank.example@evil.example/", "northbank.example@evil.example/"),
    ("https://northbank.example:8443/", "northbank.example:8443/"),
    ('<img src="https://evil.example/x">', '<img src="evil.example/x">'),
    ("[1]: https://evil.example/x", "[1]: evil.example/x"),
    ("ftp://evil.example/x", "evil.example/x"),
]
KEPT = [
    "See https://northbank.example/plan?x=1.",
    "[the plan](https://northbank.example/plan)",
    "https://erp.northbank.example:8443/orders/7",
    "It is 10:30, see section 4.2 [1] and [2](a note).",
    "Mail me at ada@northbank.example; ratio 3:1.",
]


@pytest.mark.parametrize(("text", "shown"), FOREIGN)
def test_a_link_to_another_host_is_shown_as_text(text: str, shown: str) -> None:
    filtered = filter_links(text, ALLOWED)
    assert (filtered.text, filtered.removed_count) == (shown, 1)


@pytest.mark.parametrize("text", KEPT)
def test_other_text_and_allowed_links_stay(text: str) -> None:
    filtered = filter_links(text, ALLOWED)
    assert (filtered.text, filtered.removed_count) == (text, 0)


@given(st.lists(st.sampled_from([*KEPT, *(text for text, _ in FOREIGN), "\n", "word "])), st.integers(1, 7))
def test_a_stream_shows_what_the_whole_text_shows(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    stream = LinkFilter(ALLOWED)
    shown = "".join(stream.add(text[at : at + size]) for at in range(0, len(text), size)) + stream.finish()
    assert shown == filter_links(text, ALLOWED).text


def test_a_stream_that_begins_anew_forgets_what_it_held_back() -> None:
    stream = LinkFilter(ALLOWED)
    assert stream.add("Look at https://ev") == "Look at "
    stream.reset()
    assert stream.add("No. ") + stream.finish() == "No. "
