"""What must survive a summary is found by its form, and found again in words that mean the same."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parlour.memory.summaries.key_details import (
    MAX_CONTEXT_CHARS,
    MAX_CONTEXT_WORDS,
    is_in_text,
    key_details,
    parse_text,
)


def found(text: str) -> set[tuple[str, str]]:
    return {(one.kind, one.value.partition(" | ")[0]) for one in key_details(text)}


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("My policy is PX-48213.", "identifier", "px-48213"),
        ("Invoice INV-2026/117 is open", "identifier", "inv-2026/117"),
        ("Write to ravi.k@example.com please", "identifier", "ravi.k@example.com"),
        ("Call +91 98765 43210 after lunch", "identifier", "+91 98765 43210"),
        ("मेरा नंबर ९८७६५ ४३२१० है", "identifier", "98765 43210"),
        ("It is order #4411", "identifier", "#4411"),
        ("the tracking number 60112233", "identifier", "60112233"),
        ("I paid Rs 45,000 then", "amount", "rs 45,000"),
        ("We need 24 bags of it", "amount", "24 bags"),
        ("about 12 % more", "amount", "12 %"),
        ("it comes to 3.5 lakh", "amount", "3.5 lakh"),
        ("\u096a\u096b,\u0966\u0966\u0966 रुपये दिए", "amount", "45,000 रुपये"),
        ("We met on 14 March", "date", "03-14"),
        ("due March 14th, 2026", "date", "2026-03-14"),
        ("from 2026-03-14 on", "date", "2026-03-14"),
        ("See you at 10:30", "date", "10:30"),
        ("Not on a Friday", "date", "friday"),
        ("my name is Meera Nair", "name", "meera nair"),
        ("then Dr. Anand Rao came", "name", "anand rao"),
        ("ask the firm of Larsen Toubro", "name", "larsen toubro"),
        ("We decided against tiles.", "decision", "we decided against tiles"),
        ("The drawing is approved.", "approval", "the drawing is approved"),
        ("I'll send the offer.", "promise", "i ll send the offer"),
    ],
)
def test_what_must_survive_is_found(text: str, kind: str, value: str) -> None:
    assert (kind, value) in found(text)


@pytest.mark.parametrize(
    "text", ["", "How is the crane?", "It may 5 times", "the 2nd floor", "Will you send the offer?"]
)
def test_what_tells_nothing_gives_nothing(text: str) -> None:
    assert not found(text)


def test_a_question_promises_nothing_and_approves_nothing() -> None:
    assert {kind for kind, _ in found("Is that approved? Will we send 5 bags?")} == {"amount"}


def test_a_date_is_no_amount_and_an_amount_no_code() -> None:
    assert found("Rs 45,000 on 2026-03-14") == {("amount", "rs 45,000"), ("date", "2026-03-14")}


def test_a_title_does_not_end_a_sentence() -> None:
    (promise,) = [one for one in key_details("I'll call Dr. Meera Nair on Friday. Bye.") if one.kind == "promise"]
    assert promise.text == "I'll call Dr. Meera Nair on Friday."


def test_a_long_sentence_is_kept_around_what_it_tells() -> None:
    text = "so " * 60 + "the policy is PX-48213 as far as I know " + "and " * 60
    (one,) = key_details(text)
    assert "the policy is PX-48213" in one.text
    assert len(one.text.split()) <= MAX_CONTEXT_WORDS


def test_a_script_without_spaces_is_clipped_around_it() -> None:
    text = "塔吊" * 400 + "编号PX-48213" + "塔吊" * 400
    lines = [one.text for one in key_details(text) if one.kind == "identifier"]
    assert all(len(line) <= MAX_CONTEXT_CHARS for line in lines)
    assert any("PX-48213" in line for line in lines)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("My policy is PX-48213.", "Policy px48213."),
        ("I paid Rs 45,000.", "The user paid 45000 rupees."),
        ("We met on 14 March.", "They met on 2026-03-14."),
        ("I need 2 bags.", "Two bags are needed."),
        ("call 98765 43210", "Reached under 9876543210"),
        ("my name is Meera Nair", "Nair, Meera is the user."),
        ("We decided to use the blue tiles.", "Blue tiles were decided on."),
        ("I'll call Meera on Friday at 10:30.", "The agent is to call Meera Friday, 10:30."),
    ],
)
def test_it_is_told_in_other_words_that_mean_the_same(text: str, summary: str) -> None:
    (one, *others) = key_details(text)
    assert is_in_text(one, parse_text(summary))
    assert all(is_in_text(other, parse_text(summary)) for other in others)


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("My policy is PX-48213.", "The user named a policy, PX-48214."),
        ("I paid Rs 45,000.", "The user paid 4,500."),
        ("We met on 14 March.", "They met on 14 April."),
        ("I'll call on Friday.", "The crane stands on Friday."),
        ("We decided to use the blue tiles.", "Tiles were talked about."),
        ("my name is Meera Nair", "Meera wrote."),
    ],
)
def test_what_a_summary_lacks_or_has_otherwise_is_not_told(text: str, summary: str) -> None:
    assert not all(is_in_text(one, parse_text(summary)) for one in key_details(text))


PIECES = (
    "PX-48213",
    "Rs 45,000",
    "14 March",
    "2026-03-14",
    "10:30",
    "Friday",
    "Dr. Meera Nair",
    "we decided",
    "approved",
    "I'll call",
    "मंज़ूर",
    "तय हुआ",
    "\u0966\u096a",
    "塔吊",
    "+91 98765 43210",
    "a@b.co",
    "24 bags",
    "2.4M",
    "?",
    ".",
    "\n",
    "!",
    ",",
    "may 5",
    "#17",
    "\u0130",
    "\u017f",
    "½",
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=14).map(" ".join))
@example("PX-48213 14 March 04")  # no identifier is read across a date
@example("PX-48213  Rs 45,000 G")  # a currency belongs to the number behind it
def test_what_a_text_tells_it_says_itself(text: str) -> None:
    said = parse_text(text)
    for one in key_details(text):
        assert is_in_text(one, said), one
        assert 0 < len(one.value) <= 160
        assert 0 < len(one.text) <= MAX_CONTEXT_CHARS + 8
