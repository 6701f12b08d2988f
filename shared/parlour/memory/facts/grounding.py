"""The check that a quote stands in the user's own words, and a value in its quote. Pure.

It compares words in any script and interprets nothing: of whom a sentence speaks, and whether it still holds, models
read.
"""

import re
from collections.abc import Sequence

from parlour.memory.facts.own_text import own_text
from parlour.text.numbers import spelled_digits
from parlour.text.transliteration import sounds_like, without_accents
from parlour.text.word_matching import contains_value, contains_word, informative_words
from parlour.text.words import normalize, words

#: Digits from which on a figure may be written in any grouping, with a country code or without.
_MIN_NUMBER_DIGITS = 7

#: Digits by which two phone numbers are the same.
_PHONE_DIGITS = 10

#: Letters of a word that carries little, in any language; and the share of a value's words that its quote has.
_MAX_SHORT_WORD_CHARS, _MIN_WORD_SHARE = 3, 0.6

_EMAIL = re.compile(r"[^\s@]+@[^\s@]+")


def is_quoted(quote: str, body: str) -> bool:
    """Return whether the quote stands in the user's own words of a message, letter case and spaces aside."""
    wanted = normalize(quote)
    return bool(words(quote)) and wanted in normalize(own_text(body))


def is_grounded(value: str, quote: str, known_values: Sequence[str] = ()) -> bool:
    """Return whether the quote contains the value, in whatever script or spelling.

    What a correction leaves as it was may come from a known value: of "451, not 415", the digits before.
    """
    if contains_value(quote, value):
        return True
    digits = "".join(letter for letter in value if letter.isdigit())
    if len(digits) >= _MIN_NUMBER_DIGITS and not any(map(str.isalpha, value)):
        said = spelled_digits(quote)
        return digits[-_PHONE_DIGITS:] in said or any(_corrects_number(digits, known, said) for known in known_values)
    if _has_words(value, quote):
        return True
    return any(
        _has_words(value, f"{quote} {known}") and not _has_words(value, known, min_share=1.0) for known in known_values
    )


def _has_words(value: str, text: str, min_share: float = _MIN_WORD_SHARE) -> bool:
    """Return whether the text has the value's words: all long ones, all figures, and most of the short ones."""
    there = frozenset(without_accents(word) for word in words(text))
    wanted = informative_words(value)
    missing = [word for word in wanted if not _contains(there, word, text)]
    has_long_ones = all(len(word) <= _MAX_SHORT_WORD_CHARS and word.isalpha() for word in missing)
    return bool(wanted) and has_long_ones and len(wanted) - len(missing) >= min_share * len(wanted)


def _corrects_number(digits: str, known: str, said: str) -> bool:
    """Return whether a number differs from the known one only in digits that are said."""
    before = "".join(letter for letter in known if letter.isdigit())
    if len(before) != len(digits) or before == digits:
        return False
    places = [place for place, digit in enumerate(digits) if digit != before[place]]
    return digits[places[0] : places[-1] + 1] in said


def _contains(there: frozenset[str], word: str, text: str) -> bool:
    if contains_word(there, without_accents(word)) or any(sounds_like(word, other) for other in there):
        return True
    if _EMAIL.fullmatch(word):
        joined = "".join(letter for letter in normalize(text) if letter.isalnum())
        return all(part in joined for part in re.findall(r"[^\W_]+", normalize(word)))
    is_spelled_out = word.isdigit() and not any(map(str.isdigit, text))
    return is_spelled_out and word in spelled_digits(text)
