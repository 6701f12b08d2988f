"""Documents are cut where a reader would cut them, and nothing is lost on the way."""

import re

from hypothesis import example, given, settings
from hypothesis import strategies as st

from parlour.text.chunking import MAX_CHUNK_CHARS, chunk_text

REPORT = """\
# Site report 12

Weather dry. Eleven people on site.

## Slab

The pour went ahead at grid C4.

### Cube tests

Seven-day strength was 24.1 MPa.

## Open points
"""


def bodies(content: str) -> list[str]:
    return [piece.body for piece in chunk_text(content)]


def test_a_piece_knows_the_headings_above_it() -> None:
    assert [(piece.heading, piece.body) for piece in chunk_text(REPORT)] == [
        (("Site report 12",), "Weather dry. Eleven people on site."),
        (("Site report 12", "Slab"), "The pour went ahead at grid C4."),
        (("Site report 12", "Slab", "Cube tests"), "Seven-day strength was 24.1 MPa."),
        (("Site report 12", "Open points"), "Open points"),
    ]


def test_a_heading_with_nothing_under_it_is_kept_once_even_across_a_page() -> None:
    assert bodies("# Annex\n\n<!-- page: 2 -->\n\n# Index\n\nOne") == ["Annex", "One"]
    assert bodies("# Annex\n\nText\n\n<!-- page: 2 -->\n\n# Index\n\nOne") == ["Text", "One"]


def test_short_paragraphs_of_one_section_share_a_piece() -> None:
    assert bodies("One.\n\nTwo.\n\n---\n\nThree.") == ["One.\n\nTwo.\n\nThree."]


def test_page_comments_number_the_pieces() -> None:
    pieces = chunk_text("Before.\n<!-- page: 3 -->\nThree.\n<!-- page: 4 -->\nFour.")
    assert [(piece.page, piece.body) for piece in pieces] == [(None, "Before."), (3, "Three."), (4, "Four.")]


def test_form_feeds_number_the_pieces_from_one() -> None:
    assert [(piece.page, piece.body) for piece in chunk_text("One.\fTwo.\f\fFour.")] == [
        (1, "One."),
        (2, "Two."),
        (4, "Four."),
    ]


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentences = [f"The contractor shall complete item {number} within the period agreed." for number in range(40)]
    pieces = bodies(" ".join(sentences))
    assert len(pieces) == 3
    assert all(piece.endswith("agreed.") for piece in pieces)
    assert " ".join(pieces).split() == " ".join(sentences).split()


def test_pieces_of_one_section_are_about_as_long_as_each_other() -> None:
    paragraphs = [f"Paragraph {number} says something of about this length, and no more." for number in range(16)]
    assert [len(piece) for piece in bodies("\n\n".join(paragraphs))] == [565, 445]


def test_a_signature_is_no_piece_of_its_own() -> None:
    mail = f"{'The first reason is long. ' * 20}\n\n{'The second is as long. ' * 20}\n\nKind regards,\nCallum"
    pieces = bodies(mail)
    assert len(pieces) == 2
    assert pieces[1].endswith("Kind regards,\nCallum")


def test_a_cut_table_repeats_its_header() -> None:
    rows = "".join(f"| Item {number} | {number * 100} rupees for the whole lot |\n" for number in range(60))
    pieces = bodies(f"Rates are:\n\n| Item | Rate |\n|---|---:|\n{rows}")
    assert len(pieces) > 1
    assert all(piece.startswith("Rates are:\n| Item | Rate |\n|---|---:|\n| Item ") for piece in pieces)
    assert sum(piece.count("rupees") for piece in pieces) == 60


def test_a_cut_list_repeats_the_line_that_introduces_it() -> None:
    items = "".join(
        f"- keep the {number}th scaffold tied and tagged\n  by the safety officer\n" for number in range(30)
    )
    pieces = bodies(f"Other text.\n\nThe contractor shall:\n\n{items}")
    assert len(pieces) == 3
    assert pieces[0].startswith("Other text.\n\nThe contractor shall:\n- keep the 0th")
    assert all(piece.startswith("The contractor shall:\n- keep") for piece in pieces[1:])
    assert all(piece.endswith("by the safety officer") for piece in pieces)


def test_a_list_that_fits_stays_with_its_introduction_and_its_neighbours() -> None:
    assert bodies("Intro.\n\nBring:\n1. boots\n2. helmet\n\nThank you.") == [
        "Intro.\n\nBring:\n1. boots\n2. helmet\n\nThank you."
    ]


def test_code_is_neither_heading_nor_page() -> None:
    assert bodies("```\n# not a heading\n\n<!-- page: 9 -->\n```") == ["```\n# not a heading\n\n<!-- page: 9 -->\n```"]


def test_an_email_thread_has_a_sender_per_piece() -> None:
    thread = """\
# Crane permit

**From:** Anita Rao <anita@example.com>
**To:** Ravi
**Date:** Mon, 02 Mar 2026 09:30:00 +0530
**Subject:** Crane permit

Can we start on Monday?

## Details

Permit 77.

From: ravi@example.com
Sent: 3 March 2026 10:00:00 +0530
Subject: Re: Crane permit

No, on Tuesday.

# Notes

Nobody's.
"""
    written = [(piece.email.sender, piece.email.date, piece.body.splitlines()[-1]) for piece in chunk_text(thread)]
    assert written == [
        ("Anita Rao", "2026-03-02", "Can we start on Monday?"),
        ("Anita Rao", "2026-03-02", "Permit 77."),
        ("ravi@example.com", "2026-03-03", "No, on Tuesday."),
        ("", "", "Nobody's."),
    ]


def test_the_documents_own_date_and_author_hold_where_nothing_else_is_said() -> None:
    (piece,) = chunk_text("Text.", date="2026-02-14T10:00:00+05:30", author="Meera")
    assert (piece.email.sender, piece.email.date) == ("Meera", "2026-02-14")


def test_an_empty_document_has_no_pieces() -> None:
    assert chunk_text(" \n\n\f \n---\n") == []


LINES = st.one_of(
    st.text(alphabet="ab .!?|:-*1", max_size=60),
    st.sampled_from(
        [
            "",
            "## Heading",
            "# Title",
            "<!-- page: 7 -->",
            "\f",
            "```",
            "- item one",
            "2) item two",
            "The following apply:",
            "| a | b |",
            "|---|---|",
            "---",
            "From: Anita <a@example.com>",
            "Subject: Slab",
            "word " * 300,
            "नमस्ते। " * 100,
            "x" * 2_000,
        ]
    ),
)
DOCUMENTS = st.lists(LINES, max_size=40).map("\n".join)
MARKS = re.compile(r"^\s*(?:\f|<!--\s*page:?\s*\d+\s*-->|(?P<rule>[-*_])(?:\s*(?P=rule)){2,})\s*$")


def read(content: str) -> tuple[str, list[str]]:
    """The text's characters without spaces and marks, and its headings."""
    fenced, text, headings = False, "", []
    for line in content.replace("\f", "\n\f\n").split("\n"):
        fence = line.strip().startswith(("```", "~~~"))
        if fenced or fence:
            text += line
        elif heading := re.match(r"#{1,6}\s+(.*)", line):
            headings.append(heading[1])
        elif not MARKS.match(line):
            text += line
        fenced ^= fence
    return re.sub(r"\s", "", text), headings


def is_in_order(needle: str, hay: str) -> bool:
    left = iter(hay)
    return all(character in left for character in needle)


@settings(deadline=None)
@given(DOCUMENTS)
@example("## Heading\n---")
def test_no_text_is_lost_and_its_order_is_kept(content: str) -> None:
    text, headings = read(content)
    pieces = chunk_text(content)
    assert is_in_order(text, "".join(piece.body for piece in pieces))
    assert set(headings) <= {said for piece in pieces for said in (*piece.heading, piece.body)}


@settings(deadline=None)
@given(DOCUMENTS)
def test_pieces_are_neither_empty_nor_too_long(content: str) -> None:
    assert all(0 < len(piece.body.strip()) <= MAX_CHUNK_CHARS for piece in chunk_text(content))


@settings(deadline=None)
@given(st.text())
def test_any_text_at_all_can_be_cut(content: str) -> None:
    assert all(0 < len(piece.body) <= MAX_CHUNK_CHARS for piece in chunk_text(content))


@settings(deadline=None)
@given(DOCUMENTS)
def test_the_same_text_gives_the_same_pieces(content: str) -> None:
    assert chunk_text(content) == chunk_text(content)
