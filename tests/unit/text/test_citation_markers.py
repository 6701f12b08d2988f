"""A reader finds 1, 2, 3 in each reply, and the session keeps its own numbers."""

from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlour.text.citation_markers import CitationStream, names_a_source, number_for_reader, reader_number


@pytest.mark.parametrize(
    ("stored", "cited_numbers", "shown"),
    [
        ("The cap [7] holds till May [12], see [7].", [7, 12], "The cap [1] holds till May [2], see [1]."),
        ("Both say so [7][12].", [12, 7], "Both say so [2][1]."),
        ("One that was removed shifts none [12].", [7, 12], "One that was removed shifts none [2]."),
        ("A person wrote [7].", [], "A person wrote [7]."),
        ("Shall I write 'see [3-5]'? [12]", [12], "Shall I write 'see [3-5]'? [1]"),
        ("`rows[7]`, ```\n[7]\n``` and [7].", [7], "`rows[7]`, ```\n[7]\n``` and [1]."),
        ("A [7](https://example.org) link and [7].", [7], "A [7](https://example.org) link and [1]."),
    ],
)
def test_stored_reply_has_the_readers_numbers(stored: str, cited_numbers: list[int], shown: str) -> None:
    assert number_for_reader(stored, cited_numbers) == shown


def test_number_that_is_not_cited_stays() -> None:
    assert [reader_number(number, [7, 12]) for number in (7, 12, 3)] == [1, 2, 3]


def _stream(pieces: Collection[tuple[int, str]], known_numbers: Collection[int]) -> tuple[str, list[int]]:
    stream = CitationStream(lambda numbers: {number for number in numbers if number in known_numbers})
    return "".join(stream.add(piece, block) for block, piece in pieces), stream.cited_numbers


def test_stream_numbers_known_citations_as_they_come() -> None:
    pieces = [(1, "Wait "), (1, "[9]. "), (2, "The cap "), (2, "[7, 99] "), (2, "and [12]. "), (2, "Again [7].")]
    text, cited_numbers = _stream(pieces, {7, 12})
    assert text == "Wait [9]. The cap [1] and [2]. Again [1]."
    assert cited_numbers == [7, 12]


def test_text_that_begins_again_gives_its_numbers_back() -> None:
    stream = CitationStream(lambda numbers: numbers)
    assert stream.add("First [7]. ", 1) == "First [1]. "
    assert stream.add("Then [12] and [5]. ", 2) == "Then [2] and [3]. "
    stream.reset(2)
    assert stream.add("Then [5]. ", 2) == "Then [2]. "
    assert stream.cited_numbers == [7, 5]


def test_code_of_a_stream_is_no_citation() -> None:
    pieces = [(1, "```\n"), (1, "[12]\n"), (1, "```\n"), (1, "[7] `[12]`")]
    assert _stream(pieces, {7, 12}) == ("```\n[12]\n```\n[1] `[12]`", [7])


@given(st.lists(st.sampled_from(["the ", "cap ", "[7] ", "[12]. ", "[7][5] ", "[12, 5] ", "\n", "`[5]` "])))
def test_stream_and_stored_reply_have_the_same_numbers(words: list[str]) -> None:
    streamed, cited_numbers = _stream([(1, word) for word in words], {5, 7, 12})
    assert streamed == number_for_reader("".join(words), cited_numbers)


@pytest.mark.parametrize("text", ["What does [2] say?", "Open source 2.", "Und Quelle Nr. 3?", "दस्तावेज़ 2 दिखाओ"])
def test_users_name_sources_by_number(text: str) -> None:
    assert names_a_source(text)


@pytest.mark.parametrize("text", ["We have 2 sources of water.", "By 2 May.", "resource 2", "Document 2026-114"])
def test_other_numbers_name_no_source(text: str) -> None:
    assert not names_a_source(text)
