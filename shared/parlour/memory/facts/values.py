"""Whether two values say the same, or one says more than the other. Pure."""

import re

from parlour.memory.facts.wording import is_negative, plain, stem, telling

_NUMBERS = {
    "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8",
    "nine": "9", "ten": "10", "twelve": "12",
}  # fmt: skip
_CALLABLE = re.compile(r"[+\d][\d ()./-]{6,}")


def same(one: str, other: str) -> bool:
    """Whether two values mean the same, however they are written."""
    return plain(one) == plain(other) or (_words(one) == _words(other) and is_negative(one) == is_negative(other))


def fuller(one: str, other: str) -> bool:
    """Whether `one` says all that `other` says, and more."""
    return _words(one) > _words(other) and is_negative(one) == is_negative(other)


def joined(one: str, other: str) -> str:
    """Both values beside each other."""
    return one if _words(one) >= _words(other) else f"{one}, {other}"


def _words(value: str) -> frozenset[str]:
    if _CALLABLE.fullmatch(value.strip()):
        return frozenset({"".join(letter for letter in value if letter.isdigit())[-10:]})
    return frozenset(_NUMBERS.get(word, stem(word)) for word in telling(value))
