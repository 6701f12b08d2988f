"""Which messages are compared is decided by their bits: those of their words and the signs of their vectors."""

import hashlib
import re
from uuid import UUID

import pytest

from tests.desk import Desk
from tests.integration.knowledge.test_signs import kept, session

__all__ = ["session"]

_WORD, _UNKNOWN = 2.8, 32.0
"""What a shared bit of words counts beside 64 signs, and what stands for a row without them."""

_WHOLE = 2
"""The first of these as the rows are compared: a whole number for each place that differs, and two places a bit."""


@pytest.fixture
def rows(desk: Desk, session: UUID) -> list[tuple[str, str | None, str | None]]:
    """Of every message its id, the bits of its words and its signs; one lacks the first, one the others."""
    assert session
    ids = [str(one[0]) for one in kept(desk)]
    desk.rows(f"UPDATE context_rows SET word_bits = NULL WHERE id = '{ids[2]}' RETURNING 1")
    desk.rows(f"UPDATE context_rows SET vector_bits = NULL, vector_space = NULL WHERE id = '{ids[4]}' RETURNING 1")
    return [(str(one[0]), one[1] and str(one[1]), one[2] and str(one[2])) for one in kept(desk)]  # type: ignore[misc]


def test_the_nearest_are_told_in_the_order_of_what_their_bits_share(
    desk: Desk, session: UUID, rows: list[tuple[str, str | None, str | None]]
) -> None:
    _, words, signs = rows[0]
    assert words
    assert signs
    found = desk.rows(
        f"SELECT id FROM recall_nearest(ARRAY['{session}'::uuid], 3, 'words@64', B'{signs}', B'{words}', {_WORD},"
        f" {_UNKNOWN}, 8)"
    )
    ordered = sorted(rows, key=lambda row: row[0], reverse=True)
    ordered.sort(key=lambda row: _distance(row, words, signs))
    assert [str(one[0]) for one in found] == [row[0] for row in ordered[:8]]
    assert len({_distance(row, words, signs) for row in rows}) > 3


def _distance(row: tuple[str, str | None, str | None], words: str, signs: str) -> float:
    pairs = zip(_few(row[1]), _few(words), strict=True) if row[1] else ()
    shared = sum(one == other == "1" for one, other in pairs)
    apart = sum(one != other for one, other in zip(row[2], signs, strict=True)) if row[1] and row[2] else _UNKNOWN
    return apart - _WHOLE * shared


def _few(words: str) -> str:
    """The 1,024 bits of a text's words in 256."""
    return "".join("1" if "1" in words[place::256] else "0" for place in range(256))


@pytest.mark.parametrize(("dimensions", "times"), [(64, 1), (384, 3), (512, 4), (1024, 6), (1536, 7)])
def test_words_stand_beside_the_signs_as_often_as_they_weigh(desk: Desk, dimensions: int, times: int) -> None:
    signs = "10" * (dimensions // 2)
    words = "(SELECT word_bits(to_tsvector('english', 'The crane permit KX-4471')))"
    ((bits, heard),) = desk.rows(f"SELECT {words}::text, heard_bits({words}, B'{signs}')::text")
    few = _few(str(bits))
    assert heard == few + signs + few * (times - 1)


@pytest.mark.parametrize("word", ["crane", "permit", "kx-4471", "formwork", "4471"])
def test_a_telling_word_has_three_bits_and_another_one(desk: Desk, word: str) -> None:
    ((bits,),) = desk.rows(f"SELECT word_bits(array_to_tsvector(ARRAY['{word}']))::text")
    digest = hashlib.md5(word.encode(), usedforsecurity=False).hexdigest()
    telling = len(word) >= 8 or re.search(r"\d", word)
    expected = {int(digest[4 * n - 1 : 4 * n + 3], 16) & 1023 for n in range(1, 4 if telling else 2)}
    assert {place for place, bit in enumerate(str(bits)) if bit == "1"} == expected
    assert len(str(bits)) == 1024


def test_no_words_have_no_bits(desk: Desk) -> None:
    assert desk.rows("SELECT bit_count(word_bits(''::tsvector))") == [(0,)]
