"""Which messages are compared is decided by their bits: those of their words and the signs of their vectors."""

import hashlib
import re
from uuid import UUID

import pytest

from tests.desk import Desk
from tests.integration.knowledge.test_signs import kept, session

__all__ = ["session"]

_WORD, _UNKNOWN = 2.5, 32.0
"""What a shared bit of words counts, and what stands for a row without signs."""


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
    shared = sum(one == other == "1" for one, other in zip(row[1] or "", words, strict=False))
    apart = sum(one != other for one, other in zip(row[2], signs, strict=True)) if row[2] else _UNKNOWN
    return apart - _WORD * shared


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
