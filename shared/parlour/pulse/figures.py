"""Which figures a text names, and whether others name them too: what a Pulse says in numbers must stand in its sources.
Pure.

A figure is a number or a date, however it is written: 2,400,000 and 2.4M, 2026-03-06 and 6 March. Nothing is added up
or converted: what has to be reckoned is in no source. What a number counts or measures is not compared.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from parlour.pulse.dates import Date, taken

_SCALE_WORDS = r"(?:millions?|billions?|thousands?|lakhs?|lacs?|crores?|cr|bn|mn)\b"
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w.,)])[-\u2212](?=\d))?(?P<digits>\d+(?:[.,'\u2019\u00a0\u202f]\d+)*)"
    rf"(?P<ordinal>(?:st|nd|rd|th)\b)?(?P<scale>\s?{_SCALE_WORDS}|[kmb](?![^\W\d_]))?",
    re.IGNORECASE,
)
_SCALES = {
    "k": 10**3, "thousand": 10**3, "lakh": 10**5, "lac": 10**5, "m": 10**6, "mn": 10**6, "million": 10**6, "cr": 10**7,
    "crore": 10**7, "b": 10**9, "bn": 10**9, "billion": 10**9,
}  # fmt: skip
_AMBIGUOUS = "m"
"""Million or metre: 12m."""

_UNITS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
          "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen")  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {
    **{word: 2 + place for place, word in enumerate(_UNITS)}, **{word: 20 + 10 * n for n, word in enumerate(_TENS)},
    "a": 1, "one": 1,
}  # fmt: skip
_TIMES = {"dozen": 12, "hundred": 100}
_WORDED = re.compile(
    rf"\b(?P<words>(?:{'|'.join(_TENS)})(?:[-\s](?:one|{'|'.join(_UNITS[:8])})\b)?|(?:{'|'.join(_UNITS)})\b"
    rf"|(?:a|one)(?=\s(?:dozen|hundred|{_SCALE_WORDS})))\b(?:\s(?P<times>dozen|hundred)\b)?(?P<scale>\s{_SCALE_WORDS})?",
    re.IGNORECASE,
)
_FALLING = re.compile(
    r"\b(?:behind|below|declin|decreas|deficit|down|drop|fall|fell|less|loss|lower|minus|negative|short|under)",
    re.IGNORECASE,
)
"""Beginnings of words that say the sign of a number."""

_SEPARATORS = re.compile(r"[,'\u2019\u00a0\u202f]")


@dataclass(frozen=True, slots=True)
class Number:
    """One number with everything that its spelling may mean: 1,234 and 1.234 are read both ways.

    scale    by what it is multiplied (2.4M), 1 for a number that is said in full; is_loose: or by nothing (12m).
    places   behind the point, which say how exact a number with a scale is.
    is_day   6th: of a month, or the sixth of something.
    """

    values: frozenset[Decimal]
    scale: int = 1
    places: int = 0
    is_loose: bool = False
    is_day: bool = False

    def is_said(self, one: "Number", *, falling: bool) -> bool:
        """Whether the other is this one. falling: a word says the sign that this one does not have."""
        theirs = one.values | frozenset(map(abs, one.values)) if falling else one.values
        is_alike = self.scale == one.scale
        may_be = is_alike or (self.scale == 1 and one.is_loose) or (one.scale == 1 and self.is_loose)
        if is_alike or (may_be and self.values & theirs):
            return bool(self.values & theirs)
        off = self._off if one.scale == 1 else Decimal()
        return any(abs(mine - its) <= off for mine in self.full for its in one.full)

    @property
    def full(self) -> frozenset[Decimal]:
        """What it comes to."""
        return self.values if self.scale == 1 else frozenset({min(self.values, key=abs) * self.scale})

    @property
    def _off(self) -> Decimal:
        """How far off a source may be that says it in full: half of its last place."""
        return Decimal(self.scale) / (2 * 10**self.places) if self.scale > 1 else Decimal()


@dataclass(frozen=True, slots=True)
class Figures:
    """The dates and numbers of a text; falling: it says of numbers that they are less than something."""

    dates: frozenset[Date]
    numbers: tuple[Number, ...]
    falling: bool = False

    def unsupported(self, others: "Figures") -> bool:
        """Whether it names a figure that the others do not."""
        if any(not date.is_in(others.dates) for date in self.dates):
            return True
        return any(not self._is_said(one, others) for one in self.numbers)

    def _is_said(self, one: Number, others: "Figures") -> bool:
        """By a number, or by the part of a date that people count with: its year, and the day where it is called so."""
        if any(one.is_said(other, falling=self.falling) for other in others.numbers):
            return True
        counted = {date.year for date in others.dates}
        if one.is_day:
            counted |= {date.day for date in others.dates}
        return one.scale == 1 and any(Decimal(part) in one.values for part in counted if part is not None)


def figures(text: str) -> Figures:
    """The figures of a text, number words from two on included."""
    dates, rest = taken(text)
    return Figures(dates, (*_numbers(rest), *_worded(rest)), falling=bool(_FALLING.search(text)))


def _numbers(text: str) -> Iterator[Number]:
    for found in _NUMBER.finditer(text):
        sign = -1 if found["sign"] else 1
        values = frozenset(sign * value for value in _readings(found["digits"]))
        scale, is_loose = _scale(found["scale"])
        exponent = min(values, key=abs).as_tuple().exponent
        places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
        yield Number(values, scale, places, is_loose, bool(found["ordinal"]))


def _worded(text: str) -> Iterator[Number]:
    for found in _WORDED.finditer(text):
        value = sum(_WORDS[word.lower()] for word in re.split(r"[-\s]", found["words"]))
        times = _TIMES.get((found["times"] or "").lower(), 1)
        yield Number(frozenset({Decimal(value * times)}), _scale(found["scale"])[0])


def _scale(said: str | None) -> tuple[int, bool]:
    """By what a number is multiplied, and whether that is not sure."""
    word = (said or "").strip().lower()
    return _SCALES.get(word) or _SCALES.get(word.removesuffix("s"), 1), word == _AMBIGUOUS


def _readings(digits: str) -> Iterator[Decimal]:
    """What a run of digits may mean. A point or a single comma before other than three digits is decimal; before three
    it may be either; everything else parts thousands."""
    plain = _SEPARATORS.sub("", digits)
    head, comma, tail = digits.rpartition(",")
    whole = head.replace(".", "")
    if comma and not _SEPARATORS.search(head) and "." not in head and len(tail) < 3 and tail.isdigit():
        yield Decimal(f"{head}.{tail}")  # 0,35
        return
    if comma and "." in head and whole.isdigit() and tail.isdigit():
        yield Decimal(f"{whole}.{tail}")  # 2.400.000,50
        return
    if plain.count(".") > 1:
        yield Decimal(plain.replace(".", ""))  # 2.400.000, or a version, or a numbered heading
        return
    yield Decimal(plain)
    before, point, after = plain.partition(".")
    if point and len(after) == 3 and before != "0":
        yield Decimal(before + after)
    if comma and "." not in digits and digits.count(",") == 1 and len(tail) == 3:
        yield Decimal(digits.replace(",", "."))
