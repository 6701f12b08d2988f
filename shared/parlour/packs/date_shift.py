"""Example packs whose dates follow the calendar: they move by whole weeks to the week of the apply. Pure."""

import re
from collections.abc import Mapping
from datetime import date, timedelta

from parlour.packs.format import Pack
from parlour.packs.validate import validate

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_SHORT_LENGTH = 3

#: A month by itself; "May" is left out, which is an everyday word.
_MONTH_ALONE = "|".join(name for name in _MONTHS if name != "May")
_MONTH = "|".join([*_MONTHS, *(name[:_SHORT_LENGTH] for name in _MONTHS)])
_DATES = re.compile(
    r"(?<![\w/-])(?:"
    r"(?P<iso>\d{4}-\d\d-\d\d)(?![\d-])"
    rf"|(?:(?P<first>\d{{1,2}})(?P<to>\s+(?:to|and|or)\s+))?(?P<day>\d{{1,2}})(?P<gap>\s+)(?P<month>{_MONTH})"
    r"(?:(?P<year_gap>\s+)(?P<year>\d{4}))?(?![\w-])"
    rf"|(?P<named>{_MONTH})(?P<named_gap>\s+)(?P<named_year>\d{{4}})(?![\w-])"
    rf"|(?P<alone>{_MONTH_ALONE})(?![\w-])"
    r")"
)
#: The day that stands for a month.
_MIDDLE = 15


def validate_on(files: Mapping[str, str], today: date) -> Pack:
    """Return the pack of `files` with its dates moved by whole weeks, so that `plays_on` is in the week before today.

    A pack without `plays_on` stays as it is. Raises InvalidPack for the files as they are given.
    """
    pack = validate(files)
    if not pack.tenant.plays_on:
        return pack
    plays_on = date.fromisoformat(pack.tenant.plays_on)
    shift = timedelta(weeks=(today - plays_on).days // 7)
    return validate({path: move_dates(text, plays_on, shift) for path, text in files.items()}) if shift else pack


def move_dates(text: str, plays_on: date, shift: timedelta) -> str:
    """Return a text with its dates moved: 2026-03-02, 2 March, 2 Mar 2026, 2 to 5 March, March 2026, March.

    A date without a year is the one nearest to `plays_on`. Dates in paths and names (site-report-2026-03-02.md) stay,
    and so does what is no date.
    """

    def move(found: re.Match[str]) -> str:
        try:
            return _moved(found, plays_on, shift)
        except (ValueError, OverflowError):
            return found[0]

    return _DATES.sub(move, text)


def _moved(found: re.Match[str], plays_on: date, shift: timedelta) -> str:
    if found["iso"]:
        return (date.fromisoformat(found["iso"]) + shift).isoformat()
    if month := found["alone"]:
        return _month_name(_resolve(_MIDDLE, month, None, plays_on) + shift, month)
    if month := found["named"]:
        moved = _resolve(_MIDDLE, month, found["named_year"], plays_on) + shift
        return f"{_month_name(moved, month)}{found['named_gap']}{moved.year}"
    month, year = found["month"], found["year"]
    last = _resolve(int(found["day"]), month, year, plays_on) + shift
    text = f"{last.day}{found['gap']}{_month_name(last, month)}"
    if year:
        text += f"{found['year_gap']}{last.year}"
    if not found["first"]:
        return text
    first = _resolve(int(found["first"]), month, year, plays_on) + shift
    month_of_first = "" if first.month == last.month else f"{found['gap']}{_month_name(first, month)}"
    return f"{first.day}{month_of_first}{found['to']}{text}"


def _resolve(day: int, month: str, year: str | None, plays_on: date) -> date:
    """Return the date; ValueError for a day that does not exist."""
    number = next(at for at, name in enumerate(_MONTHS, 1) if name.startswith(month))
    if year:
        return date(int(year), number, day)
    return min(
        (date(near, number, day) for near in (plays_on.year - 1, plays_on.year, plays_on.year + 1)),
        key=lambda one: abs(one - plays_on),
    )


def _month_name(moved: date, like: str) -> str:
    name = _MONTHS[moved.month - 1]
    return name[:_SHORT_LENGTH] if len(like) == _SHORT_LENGTH and like != "May" else name
