"""Which figures a text names, and whether others name them too: what a Pulse says in numbers must stand in its sources.
Pure.

A figure is a number or a date, however it is written: 2,400,000 and 2.4M, 2026-03-06 and 6 March. Nothing is added up
or converted: what has to be reckoned is in no source.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}(?:,?\s+(?P<year>\d{{4}})(?!\d))?",
        rf"\b{_MONTH}\s+(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<year>\d{{4}})(?!\d))?",
    )
)
_NUMBER = re.compile(
    r"(?P<digits>\d+(?:[.,'\u2019\u00a0\u202f]\d+)*)(?P<scale>\s?(?:million|billion|thousand|lakh|crore)\b"
    r"|(?:bn|mn|[kmb])(?![^\W\d_]))?",
    re.IGNORECASE,
)
_SCALES = {
    "k": 10**3, "thousand": 10**3, "lakh": 10**5, "m": 10**6, "mn": 10**6, "million": 10**6, "crore": 10**7,
    "b": 10**9, "bn": 10**9, "billion": 10**9,
}  # fmt: skip
_WORDS = {
    "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11,
    "twelve": 12,
}  # fmt: skip
_WORD = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b", re.IGNORECASE)
_SEPARATORS = re.compile(r"[,'\u2019\u00a0\u202f]")

type Day = tuple[int | None, int, int]
"""Year, month, day; a date that names no year may be of any."""


@dataclass(frozen=True, slots=True)
class Number:
    """One number with everything that its spelling may mean: 1,234 and 1.234 are read both ways.

    scaled  what it means with the unit behind it (2.4M), and how far off a source may be that says it in full.
    """

    values: frozenset[Decimal]
    scaled: Decimal | None = None
    tolerance: Decimal = Decimal()

    def is_in(self, known: frozenset[Decimal]) -> bool:
        """Whether one of these numbers is this one."""
        if self.values & known:
            return True
        return self.scaled is not None and any(abs(one - self.scaled) <= self.tolerance for one in known)


@dataclass(frozen=True, slots=True)
class Figures:
    """The dates and numbers of a text."""

    days: frozenset[Day]
    numbers: tuple[Number, ...]

    @property
    def values(self) -> frozenset[Decimal]:
        """Everything that its numbers may mean, and the parts of its dates."""
        own = {value for one in self.numbers for value in (*one.values, one.scaled) if value is not None}
        parts = {Decimal(part) for day in self.days for part in day if part is not None}
        return frozenset(own | parts)

    def unsupported(self, others: "Figures") -> bool:
        """Whether it names a figure that the others do not."""
        known = others.values
        if any(not _is_dated(day, others.days) for day in self.days):
            return True
        return any(not one.is_in(known) for one in self.numbers)


def figures(text: str) -> Figures:
    """The figures of a text, number words from two to twelve included."""
    days: set[Day] = set()

    def note(found: re.Match[str]) -> str:
        day = _day(found)
        if day is None:
            return found[0]
        days.add(day)
        return " "

    rest = text
    for pattern in _DATES:
        rest = pattern.sub(note, rest)
    return Figures(frozenset(days), (*_numbers(rest), *_worded(rest)))


def _day(found: re.Match[str]) -> Day | None:
    named = found.groupdict()
    if named.get("month") == "may" and not named.get("year"):
        return None  # it may 5 times
    month = _MONTHS.index(named["month"][:3].lower()) + 1 if named.get("month") else int(named["number"])
    day = int(named["day"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return int(named["year"]) if named.get("year") else None, month, day


def _is_dated(day: Day, known: frozenset[Day]) -> bool:
    year, *rest = day
    return any(rest == other and (year is None or its is None or year == its) for its, *other in known)


def _numbers(text: str) -> Iterator[Number]:
    for found in _NUMBER.finditer(text):
        values = frozenset(_readings(found["digits"]))
        scale = _SCALES.get((found["scale"] or "").strip().lower())
        if scale is None:
            yield Number(values)
            continue
        said = min(values)
        exponent = said.as_tuple().exponent
        places = -exponent if isinstance(exponent, int) else 0
        yield Number(values, said * scale, Decimal(scale) / (2 * 10 ** max(places, 0)))


def _worded(text: str) -> Iterator[Number]:
    for found in _WORD.finditer(text):
        yield Number(frozenset({Decimal(_WORDS[found[0].lower()])}))


def _readings(digits: str) -> Iterator[Decimal]:
    """What a run of digits may mean. A point or a single comma before other than three digits is decimal; before three
    it may be either; everything else parts thousands."""
    plain = _SEPARATORS.sub("", digits)
    head, comma, tail = digits.rpartition(",")
    if comma and not _SEPARATORS.search(head) and "." not in head and len(tail) < 3 and tail.isdigit():
        yield Decimal(f"{head}.{tail}")  # 0,35
        return
    whole = head.replace(".", "")
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
