"""A reply cites what it was given, and nothing else."""

import pytest

from parlour.conversations.citations import check_citations
from parlour.conversations.cited_figures import CitedFigures


@pytest.mark.parametrize(
    ("text", "known", "kept", "numbers", "removed"),
    [
        ("The cap is EUR 2m [3].", {3}, "The cap is EUR 2m [3].", (3,), 0),
        ("The cap is EUR 2m [9].", {3}, "The cap is EUR 2m.", (), 1),
        ("Both [1, 2] say so.", {1, 2}, "Both [1][2] say so.", (1, 2), 0),
        ("Both [1,9] say so.", {1}, "Both [1] say so.", (1,), 1),
        ("Twice [2], and again [2], then [1].", {1, 2}, "Twice [2], and again [2], then [1].", (2, 1), 0),
        ("A [link](https://example.org) stays.", {1}, "A [link](https://example.org) stays.", (), 0),
        ("[7](https://example.org) is a link.", set(), "[7](https://example.org) is a link.", (), 0),
        ("[1] begins the line.", {1}, "[1] begins the line.", (1,), 0),
        ("An index like rows[0] is none.", {1}, "An index like rows[0] is none.", (), 0),
        ("In [2024] the price rose.", {1}, "In [2024] the price rose.", (), 0),
        ("`a[9]` and [9].", {1}, "`a[9]` and.", (), 1),
        ("```\na = b[12] + c\n[7]\n```\nas in [1]", {1}, "```\na = b[12] + c\n[7]\n```\nas in [1]", (1,), 0),
        ("Three say so [1-3].", {1, 2}, "Three say so [1][2].", (1, 2), 1),
        ("Both [1; 2] do.", {1, 2}, "Both [1][2] do.", (1, 2), 0),
        ("Adjacent [1][2][9].", {1, 2}, "Adjacent [1][2].", (1, 2), 1),
        ("नींव में दरार [4]।", {4}, "नींव में दरार [4]।", (4,), 0),
        ("No citation.", {1}, "No citation.", (), 0),
        ("", {1}, "", (), 0),
    ],
)
def test_known_numbers_stay_and_others_go(
    text: str, known: set[int], kept: str, numbers: tuple[int, ...], removed: int
) -> None:
    cited = check_citations(text, known)
    assert (cited.text, cited.numbers, cited.removed_count) == (kept, numbers, removed)


LIMIT = "Crack width: the limit is 0.30 mm at grid line B4. Stop at 0.50."
MINUTES = "Minutes of 12 November 2026: 0.70 mm was measured."


@pytest.mark.parametrize(
    ("text", "checked"),
    [
        ("The crack is 0.70 mm wide [2].", "The crack is 0.70 mm wide [9]."),
        ("The crack is 0.70 mm wide [9].", "The crack is 0.70 mm wide [9]."),
        ("The limit is 0.30 [2], and 0.70 was measured [2].", "The limit is 0.30 [2], and 0.70 was measured [9]."),
        ("It is 0.70 mm wide. [2]", "It is 0.70 mm wide. [9]"),
        ("It is 0.95 mm wide [2].", "It is 0.95 mm wide."),
        ("It is 0.95 mm wide [5].", "It is 0.95 mm wide [5]."),  # of an earlier turn, a page of which was read
        ("From 0.30 to 0.70 it is 0.40 more [2][9].", "From 0.30 to 0.70 it is 0.40 more [2][9]."),
        ("The measured crack is above the limit [2].", "The measured crack is above the limit [2]."),
        ("You asked about 17 bags: ask the supplier [2].", "You asked about 17 bags: ask the supplier [2]."),
        ("1. Stop the work [2].", "1. Stop the work [2]."),
        ("दरार 0.70 mm है [2]।", "दरार 0.70 mm है [9]।"),
    ],
)
def test_a_figure_is_cited_by_the_document_that_has_it(text: str, checked: str) -> None:
    figures = CitedFigures({2: LIMIT, 9: MINUTES}, {5: "Scaffold of 4 bays."}, "Do we need 17 bags?")
    assert check_citations(text, {2, 5, 9}, figures).text == checked


@pytest.mark.parametrize("written", ["[document 2]", "[Documents 2]", "[doc. 2]", "[n 2]", "[Dokument 2]"])
def test_a_number_with_its_noun_is_a_citation(written: str) -> None:
    assert check_citations(f"The cap is EUR 2m {written}.", {2}).text == "The cap is EUR 2m [2]."
    assert check_citations("An [annex 2] stays.", {2}).text == "An [annex 2] stays."
