"""A message that history no longer tells is one line, which keeps its figures, dates and names."""

from hypothesis import given
from hypothesis import strategies as st

from parlour.prompts.assembly import recap

LONG = (
    "Good morning, I hope that all of you had a restful weekend and that the site is dry again after the rain. "
    "We met the contractor. Invoice INV-2041 over ₹45,000 is due on 2026-03-14. Everybody was in a good mood. "
    "Grid line C4 has a crack of 0.3 mm. See you."
)


def test_a_short_message_is_its_own_line() -> None:
    assert recap.recap_message("Pour\n the  slab.") == "Pour the slab."
    question = (
        "And may we put the pallets of the second delivery on the hardstanding beside line C, if the work between C3 "
    )
    question += "and C5 stays stopped until Monday and nobody else needs the place before then?"
    assert recap.recap_message(question) == question


def test_figures_dates_and_identifiers_outlive_the_words_around_them() -> None:
    line = recap.recap_message(LONG)
    assert line.startswith("Good morning, I hope")
    assert all(one in line for one in ("INV-2041", "₹45,000", "2026-03-14")), line
    assert len([word for word in line.split() if word != "..."]) <= recap.MAX_WORDS


def test_a_time_of_day_takes_no_room_from_a_figure() -> None:
    line = recap.recap_message("We talked about many things. " * 9 + "It was 10:30 then. We agreed on 1,250 bags. " * 2)
    assert "1,250 bags" in line
    assert "10:30" not in line


def test_a_line_keeps_a_currency_and_a_title_with_what_they_belong_to() -> None:
    line = recap.recap_message(
        "Good morning, I hope that all of you had a restful weekend and that the site is dry again by now. "
        "After a long walk over the site we met Dr. Rao and agreed that Rs. 2,50,000 is paid on No. 5 by then. Bye."
    )
    assert "Dr. Rao and agreed that Rs. 2,50,000 is paid" in line


def test_an_opening_does_not_end_between_a_currency_and_its_amount() -> None:
    line = recap.recap_message(
        "We all met at the site today and agreed to pay Rs. 2,50,000 " + "in many small parts " * 6
    )
    assert "Rs. 2,50,000" in line


def test_a_figure_late_in_one_long_sentence_is_kept() -> None:
    line = recap.recap_message(
        "We talked about " + "many things and " * 20 + "finally agreed on 1,250 bags of cement " + "for all " * 9
    )
    assert "1,250 bags" in line


def test_without_figures_it_is_how_the_message_begins() -> None:
    assert recap.recap_message("word " * 60) == "word " * recap.MAX_WORDS + "..."


def test_scripts_without_spaces_are_cut_too() -> None:
    assert len(recap.recap_message("基礎は月曜日に打設された。" * 400)) <= recap.MAX_CHARS


@given(st.text(max_size=3_000))
def test_no_line_is_long_or_broken(text: str) -> None:
    line = recap.recap_message(text)
    assert len(line) <= recap.MAX_CHARS
    assert "\n" not in line
    assert len([word for word in line.split(" ") if word != "..."]) < recap.WHOLE_WORDS
