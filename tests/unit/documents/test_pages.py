"""Reading a long document a page at a time."""

from hypothesis import given
from hypothesis import strategies as st

from parlour.documents.pages import cut_page, find_headings, find_section

CONTRACT = (
    "# Contract\n\nBetween us.\n\n## 1 Liability\n\nIt is limited to 2 million.\n\n### 1.1 Exceptions\n\nNone.\n\n"
    "## 2 Payment\n\n```\n# not a heading\n```\n\nWithin 30 days.\n"
)


def test_headings_are_found_with_their_place_and_code_is_none() -> None:
    found = find_headings(CONTRACT)
    assert [(heading.text, heading.level) for heading in found] == [
        ("Contract", 1),
        ("1 Liability", 2),
        ("1.1 Exceptions", 3),
        ("2 Payment", 2),
    ]
    assert all(CONTRACT[heading.offset :].startswith("#") for heading in found)


def test_a_section_ends_where_the_next_of_its_level_begins() -> None:
    found = find_section(CONTRACT, "1 liability")
    assert found is not None
    assert CONTRACT[slice(*found)] == (
        "## 1 Liability\n\nIt is limited to 2 million.\n\n### 1.1 Exceptions\n\nNone.\n\n"
    )
    assert find_section(CONTRACT, "payment") == (CONTRACT.index("## 2"), len(CONTRACT))


def test_a_section_that_is_not_there_is_none() -> None:
    assert find_section(CONTRACT, "Insurance") is None
    assert find_section(CONTRACT, "!") is None


def test_a_page_stops_before_a_heading_and_says_where_reading_goes_on() -> None:
    first = cut_page(CONTRACT, 0, 85)
    assert first.text.endswith("None.\n\n") or first.text.endswith("million.\n\n")
    assert first.next_start is not None
    second = cut_page(CONTRACT, first.next_start, 85)
    assert second.text.startswith("#")
    assert second.heading[0] == "Contract"


def test_a_page_without_headings_stops_behind_a_paragraph_a_sentence_or_a_word() -> None:
    assert cut_page("One two.\n\nThree four five", 0, 14).text == "One two.\n\n"
    assert cut_page("One two. Three four five", 0, 13).text == "One two. "
    assert cut_page("x" * 30, 0, 12).text == "x" * 12


def test_a_page_that_holds_everything_is_the_last() -> None:
    whole = cut_page(CONTRACT, 0, 10_000)
    assert (whole.text, whole.next_start) == (CONTRACT, None)


def test_beyond_the_end_there_is_nothing_more() -> None:
    beyond = cut_page(CONTRACT, 10_000, 100)
    assert (beyond.text, beyond.next_start) == ("", None)


@given(st.text(alphabet="ab #\n.`", max_size=300), st.integers(1, 60))
def test_reading_on_comes_to_the_end_and_leaves_nothing_out(content: str, most: int) -> None:
    read, at = "", 0
    while True:
        one = cut_page(content, at, most)
        assert len(one.text) <= most
        read += one.text
        if one.next_start is None:
            break
        assert one.next_start > at
        at = one.next_start
    assert read == content
