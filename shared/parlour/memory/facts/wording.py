"""The words of a text in any script, and which of them tell something. Pure."""

import re

from parlour.text.words import normalized, word_list, words

_DENSE = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff]")
"""Scripts that write no spaces: Thai, Japanese, Chinese."""

_EMPTY = word_list(
    "a an the and or of to in on at by for from with is am are was were be been my our your his her their its i we me "
    "us you it this that these those mr mrs ms dr please now just also too very really as do does did have has had "
    "plan tier package subscription membership city town called named name user likes prefers always loves enjoys "
    "hai hain mein mera meri mujhe main hoon hu ka ki ke ko se है हूँ हूं में मेरा मेरी का की के को से என் நான்"
)
"""Words that say nothing by themselves about which value it is."""

_NOT = word_list(
    "not no never none nor dislikes dislike hates hate avoids avoid without cannot don't doesn't didn't isn't aren't "
    "wasn't can't won't wouldn't nahi nahin mat नहीं मत இல்லை பிடிக்காது"
)
"""Words that turn a value round."""

_LONG = 7
"""Digits from which on a figure is a number to be dialled or a date."""

_GROUPS = re.compile(r"(?<=\d)\.(?=\d{3}(?:\.\d{3})+$)|(?<=\d\.\d{3})\.(?=\d{3}$)")
_LEAST = 3
"""Letters that two forms of one word share at least."""


def telling(text: str) -> list[str]:
    """The words that tell something; all of them where none does by itself."""
    found = words(text)
    return [word for word in found if word not in _EMPTY and word not in _NOT] or found


def is_negative(text: str) -> bool:
    """Whether the words say of something that it is not so, or not wanted."""
    return any(word in _NOT for word in words(text))


def holds(there: frozenset[str], word: str) -> bool:
    """Whether a word stands among others, as it is or in another form of itself; one with a digit only as it is."""
    if word in there:
        return True
    if any(letter.isdigit() for letter in word):
        return any(_digits(word) == _digits(other) for other in there if any(map(str.isdigit, other)))
    return any(_akin(word, other) for other in there)


def says(text: str, value: str) -> bool:
    """Whether every telling word of the value stands in the text."""
    if _DENSE.search(value):
        return normalized(value).replace(" ", "") in normalized(text).replace(" ", "")
    there = frozenset(words(text))
    wanted = telling(value)
    return bool(wanted) and all(holds(there, word) for word in wanted)


def stem(word: str) -> str:
    """A word without its plural; enough to compare values."""
    return word[:-1] if len(word) > _LEAST and word.endswith("s") and not word.endswith("ss") else word


def _akin(word: str, other: str) -> bool:
    """Whether one is the other with a short ending: vegetarian and vegetarians. Endings of scripts that write many
    letters for a sound are longer: Chennai, and in Chennai, in Tamil."""
    short, long = sorted((word, other), key=len)
    ending = max(2, len(short) // 3) if short.isascii() else max(4, len(short) // 2)
    return len(short) >= _LEAST and long.startswith(short) and len(long) - len(short) <= ending


def _digits(word: str) -> str:
    """A figure without what stands around it. The marks in a telephone number or a date count for nothing; those in a
    shorter figure say how much it is."""
    if sum(map(str.isdigit, word)) >= _LONG:
        return "".join(letter for letter in word if letter.isalnum())
    return _GROUPS.sub("", word.strip("+-./\u20b9$\u20ac\u00a3#'"))
