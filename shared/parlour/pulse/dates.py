"""The dates that a text names, however they are written: 2026-03-06, 6 March, March 6, April 2026, 06/03/2026. Pure."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>\d{4})(?!\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_WRITTEN = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})(?!\d)",
        rf"(?<!\d){_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH}\s+{_DAY}(?!\d)(?:,?\s+{_YEAR})?",
        rf"\b{_MONTH},?\s+{_YEAR}",
    )
)
_NUMERIC = re.compile(
    r"(?<![\d/.])(?P<first>\d{1,2})(?P<between>[/.])(?P<second>\d{1,2})(?P=between)(?P<year>\d{4}|(?<=/)\d{2})(?![\d/])"
)
_MONTH_ALONE = re.compile(
    r"\b(?P<month>January|February|March|April|June|July|August|September|October|November|December)\b"
)
"""May is left out: it begins sentences that name no month."""


@dataclass(frozen=True, slots=True)
class Date:
    """A date, or a month: `day` is None then; a date that names no year (None) may be of any.

    other   day and month the other way round, where a date in figures may mean both.
    spelled its two figures as they stand, if it was written in figures that may be read two ways.
    """

    year: int | None
    month: int
    day: int | None
    other: tuple[int, int] | None = None
    spelled: tuple[int, int] | None = None

    def is_in(self, known: Iterable["Date"]) -> bool:
        """Whether one of these is this one, as far as both say."""
        return any(self._is(one) for one in known)

    def _is(self, one: "Date") -> bool:
        if None not in (self.year, one.year) and self.year != one.year:
            return False
        if self.spelled and one.spelled:
            return self.spelled == one.spelled
        return any(mine == its or mine == (its[0], None) for mine in self.readings for its in one.readings)

    @property
    def readings(self) -> tuple[tuple[int, int | None], ...]:
        """Month and day, in every way that they may be meant."""
        own = (self.month, self.day)
        return (own, self.other) if self.other else (own,)


def taken(text: str) -> tuple[frozenset[Date], str]:
    """The dates of a text, and the text without them."""
    found: set[Date] = set()
    rest = text
    for pattern, read in (*((one, _written) for one in _WRITTEN), (_NUMERIC, _numeric), (_MONTH_ALONE, _written)):
        rest = pattern.sub(_noting(read, found), rest)
    return frozenset(found), rest


def _noting(read: Callable[[re.Match[str]], Date | None], found: set[Date]) -> Callable[[re.Match[str]], str]:
    def note(match: re.Match[str]) -> str:
        date = read(match)
        if date is None:
            return match[0]
        found.add(date)
        return " "

    return note


def _written(found: re.Match[str]) -> Date | None:
    named = found.groupdict()
    word = (named.get("month") or "").lower()
    if word == "may" and not named.get("year"):
        return None  # it may 5 times
    month = _MONTHS.index(word[:3]) + 1 if word else int(named["number"])
    day = int(named["day"]) if named.get("day") else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return Date(int(named["year"]) if named.get("year") else None, month, day)


def _numeric(found: re.Match[str]) -> Date | None:
    """A date in figures: which of the first two is the month is not always to be told."""
    first, second = int(found["first"]), int(found["second"])
    year = int(found["year"]) if len(found["year"]) == 4 else 2000 + int(found["year"])
    readings = [
        (month, day) for month, day in ((second, first), (first, second)) if 1 <= month <= 12 and 1 <= day <= 31
    ]
    if not readings:
        return None
    (month, day), *others = readings
    return Date(year, month, day, others[0] if others else None, (first, second) if others else None)
