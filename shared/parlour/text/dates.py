"""The dates that a text names in any of six languages, however they are written. Pure.

2026-03-06, 6 March, March 6, April 2026, 06/03/2026, 6. März 2026, 6 de marzo de 2026, 6 मार्च.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from parlour.text.words import MONTH_NUMBERS, MONTHS

_NO_LETTER_BEFORE = r"(?<![^\W\d_])"
_NO_LETTER_AFTER = r"(?![^\W\d_\u0900-\u0d7f]|[\u0900-\u0963\u0966-\u0d7f])"
_NAMES = "|".join(sorted(map(re.escape, MONTH_NUMBERS), key=len, reverse=True))
_MONTH = rf"{_NO_LETTER_BEFORE}(?P<month>{_NAMES}){_NO_LETTER_AFTER}\.?"
_YEAR = r"(?P<year>\d{4})(?!\d)"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?"
_WRITTEN_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})-(?P<number>\d{1,2})-(?P<day>\d{1,2})(?!\d)",
        rf"(?<!\d){_DAY}\s+(?:of\s+|de\s+)?{_MONTH}(?:,?\s+(?:de\s+)?{_YEAR})?",
        rf"{_MONTH}\s+{_DAY}(?![\d:])(?:,?\s+{_YEAR})?",
        rf"{_MONTH},?\s+(?:de\s+)?{_YEAR}",
    )
)
_NUMERIC_DATE = re.compile(
    r"(?<![\d/.])(?P<first>\d{1,2})(?P<between>[/.])\s?(?P<second>\d{1,2})(?P=between)\s?"
    r"(?P<year>\d{4}|(?<=/)\d{2}|(?<=\d\d\.\d\d\.)\d{2})(?![\d/])"
)

#: A month by itself is one where its long name is written with a capital, or in a script without: "may" and "mar" are
#: everyday words.
_MONTH_ALONE = re.compile(
    rf"{_NO_LETTER_BEFORE}(?P<month>"
    + "|".join(
        sorted(
            {name.capitalize() for months in MONTHS.values() for name in months if len(name) > 3 or not name.isascii()}
        )
    )
    + rf"){_NO_LETTER_AFTER}"
)


@dataclass(frozen=True, slots=True)
class Date:
    """A date, or a month: `day` is None then; a date that names no year (None) may be of any.

    other   day and month the other way round, where a date in figures may mean both.
    spelled its two figures as they stand, if it was written in figures that may be read two ways.
    """

    year: int | None
    month: int
    day: int | None
    alternative: tuple[int, int] | None = None
    ambiguous_digits: tuple[int, int] | None = None

    def is_in(self, dates: Iterable["Date"]) -> bool:
        """Whether one of these is this one, as far as both say."""
        return any(self._matches(one) for one in dates)

    def _matches(self, other: "Date") -> bool:
        if None not in (self.year, other.year) and self.year != other.year:
            return False
        if self.ambiguous_digits and other.ambiguous_digits:
            return self.ambiguous_digits == other.ambiguous_digits
        return any(mine == its or mine == (its[0], None) for mine in self.readings for its in other.readings)

    @property
    def stored_value(self) -> str:
        """The date as it is stored: 2026-03-14, 03-14 without a year, 03/04/2026 where both may be the month."""
        if self.ambiguous_digits:
            return f"{self.ambiguous_digits[0]:02}/{self.ambiguous_digits[1]:02}/{self.year}"
        year = f"{self.year}-" if self.year else ""
        return f"{year}{self.month:02}-{self.day:02}" if self.day else f"{year}{self.month:02}"

    @property
    def readings(self) -> tuple[tuple[int, int | None], ...]:
        """Month and day, in every way that they may be meant."""
        own = (self.month, self.day)
        return (own, self.alternative) if self.alternative else (own,)


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date and the characters of the text that it stands on."""

    date: Date
    start: int
    end: int


def extract_dates(text: str) -> tuple[list[FoundDate], str]:
    """Return the dates of a text, and the text with blanks where they stood: places stay the same."""
    found: list[FoundDate] = []
    for pattern, read in (
        *((one, _parse_written_date) for one in _WRITTEN_DATES),
        (_NUMERIC_DATE, _parse_numeric_date),
        (_MONTH_ALONE, _parse_written_date),
    ):
        text = pattern.sub(_date_collector(read, found), text)
    return found, text


def parse_stored_value(stored_value: str) -> Date | None:
    """Return the date that `Date.value` wrote."""
    if re.fullmatch(r"\d{2}-\d{2}", stored_value):
        return Date(None, int(stored_value[:2]), int(stored_value[3:]))
    found, _ = extract_dates(stored_value)
    return found[0].date if found else None


def _date_collector(
    parse: Callable[[re.Match[str]], Date | None], found_dates: list[FoundDate]
) -> Callable[[re.Match[str]], str]:
    def note(match: re.Match[str]) -> str:
        date = parse(match)
        if date is None:
            return match[0]
        found_dates.append(FoundDate(date, match.start(), match.end()))
        return " " * len(match[0])

    return note


def _parse_written_date(found: re.Match[str]) -> Date | None:
    named = found.groupdict()
    word = (named.get("month") or "").casefold()
    if word == "may" and not named.get("year"):
        return None  # it may 5 times
    month = MONTH_NUMBERS[word] if word else int(named["number"])
    day = int(named["day"]) if named.get("day") else None
    if not 1 <= month <= 12 or (day is not None and not 1 <= day <= 31):
        return None
    return Date(int(named["year"]) if named.get("year") else None, month, day)


def _parse_numeric_date(found: re.Match[str]) -> Date | None:
    """Return a date written in figures, in which day and month may be ambiguous; None when it is invalid."""
    first, second = int(found["first"]), int(found["second"])
    year = int(found["year"]) if len(found["year"]) == 4 else 2000 + int(found["year"])
    readings = [
        (month, day) for month, day in ((second, first), (first, second)) if 1 <= month <= 12 and 1 <= day <= 31
    ]
    if not readings:
        return None
    (month, day), *others = readings
    return Date(year, month, day, others[0] if others else None, (first, second) if others else None)
