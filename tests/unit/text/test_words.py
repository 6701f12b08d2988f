"""Words in any script, in one spelling, and what they are compared by."""

import pytest

from parlour.text.similarity import containment, jaccard_similarity
from parlour.text.words import MONTHS, WEEKDAYS, content_words, key_terms, stems, word_parts, words


def test_words_keep_codes_amounts_and_vowel_signs_whole() -> None:
    assert words("The RA-07 of L&T, 4,50,000 on 2026-03-02; 3rd floor!") == [
        "the",
        "ra-07",
        "of",
        "l&t",
        "450000",
        "on",
        "2026-03-02",
        "3",
        "floor",
    ]
    assert words("मेरा भुगतान।") == ["मेरा", "भुगतान"]
    assert words("பணம், எப்போது?") == ["பணம்", "எப்போது"]


def test_word_parts_are_cut_at_every_mark() -> None:
    assert word_parts("Rao's RA-07 (site_plan)") == ["Rao", "s", "RA", "07", "site", "plan"]


def test_key_terms_are_long_or_have_a_digit() -> None:
    assert key_terms("The gate A7 of Rao is OPEN") == {"gate", "a7", "open"}
    assert key_terms("The gate is open", min_letters=6) == set()


def test_content_words_leave_stop_words_of_every_language_out() -> None:
    assert content_words("What is the notice period, and what is it in der Stadt? नोटिस क्या है") == [
        "notice",
        "period",
        "stadt",
        "नोटिस",
    ]


@pytest.mark.parametrize(("one", "other"), [("approved invoices", "approving the invoice"), ("भुगतानों", "भुगतान")])
def test_forms_of_one_word_have_one_stem(one: str, other: str) -> None:
    assert stems(one) == stems(other)


@pytest.mark.parametrize(("one", "other"), [("steel", "steer"), ("crane", "crack"), ("2.5", "25")])
def test_words_that_only_look_alike_have_two(one: str, other: str) -> None:
    assert stems(one).isdisjoint(stems(other))


def test_a_code_is_compared_as_a_whole_and_by_its_parts() -> None:
    assert stems("RA-07") == {"ra-07", "ra", "07"}
    assert stems("2026-03-02") == {"2026-03-02"}


def test_every_language_has_twelve_months_and_seven_days() -> None:
    assert all(set(months.values()) == set(range(1, 13)) for months in MONTHS.values())
    assert all(len(days.split()) == 7 for days in WEEKDAYS.values())


def test_likeness_is_the_shared_part() -> None:
    assert jaccard_similarity({1, 2, 3}, {2, 3, 4}) == 0.5
    assert containment({1, 2}, {2, 3, 4}) == 0.5
    assert jaccard_similarity(set(), set()) == containment(set(), {1}) == 0.0
