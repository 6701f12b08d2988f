"""A reply cites what it was given, and nothing else."""

import pytest

from parlour.conversations.citations import check_citations


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
