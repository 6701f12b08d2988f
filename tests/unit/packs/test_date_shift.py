import re
from datetime import date, timedelta
from pathlib import Path

import pytest

from parlour.infra.errors import InvalidPack
from parlour.packs.date_shift import move_dates, validate_on
from parlour.packs.folder import read_folder
from parlour.packs.format import Pack
from tests.unit.packs.sample_pack import SMALL_PACK

PLAYS_ON = date(2026, 3, 2)
EXAMPLE = read_folder(Path("packs/construction"))
WEEKS = range(0, 105, 3)

_WEEKDAY_AND_DATE = re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (\d{1,2}) ([A-Z][a-z]{2})[a-z]*(?: (\d{4}))?")


@pytest.mark.parametrize(
    ("text", "weeks", "moved"),
    [
        ("due: 2026-03-06", 1, "due: 2026-03-13"),
        ("date: 2026-02-12T11:42", 4, "date: 2026-03-12T11:42"),
        ("Date: Thu, 12 Feb 2026 11:42:00 +0000", 52, "Date: Thu, 11 Feb 2027 11:42:00 +0000"),
        ("on Friday 6 March,", 2, "on Friday 20 March,"),
        ("from 28 August to 11 September 2026", 20, "from 15 January to 29 January 2027"),
        ("yours 7 to 10 April", 1, "yours 14 to 17 April"),
        ("yours 7 to 10 April", 3, "yours 28 April to 1 May"),
        ("the report of March 2025", 4, "the report of April 2025"),
        ("Forecast, Feb 2026", 38, "Forecast, Nov 2026"),
        ("gave you in December", 8, "gave you in February"),
        ("broken\n  after the 6\n  March line", 1, "broken\n  after the 13\n  March line"),
        ("28 February 2024", 52, "26 February 2025"),
        ("2 May or 3 May 2026", 1, "9 May or 10 May 2026"),
    ],
)
def test_dates_move_in_the_form_that_they_have(text: str, weeks: int, moved: str) -> None:
    assert move_dates(text, PLAYS_ON, timedelta(weeks=weeks)) == moved


@pytest.mark.parametrize(
    "text",
    [
        "reports/site-report-2026-02-18.md",
        "mails/2026-02-19-crane-booking.eml",
        "contract C-2025-017, 07700 900118",
        "You may lift 3 panels; it may stop. Mark it.",
        "31 February 2026",
        "2026-13-45",
        "9999-12-31",
        "30 %, 4.5 m, 12.1, 08:45",
    ],
)
def test_what_is_no_date_or_a_name_stays(text: str) -> None:
    assert move_dates(text, PLAYS_ON, timedelta(weeks=38)) == text


def test_a_pack_moves_to_the_week_of_the_apply_and_not_again() -> None:
    for day in range(-20, 20):
        today = PLAYS_ON + timedelta(days=day)
        pack = validate_on(EXAMPLE, today)
        assert timedelta(0) <= today - date.fromisoformat(pack.tenant.plays_on) < timedelta(days=7)
    (tenant,) = (text for path, text in EXAMPLE.items() if path == "tenant.yaml")
    moved = {**EXAMPLE, "tenant.yaml": tenant.replace("2026-03-02", "2026-11-23")}
    assert validate_on(moved, date(2026, 11, 29)).records == validate_on(EXAMPLE, PLAYS_ON).records


def test_a_pack_that_does_not_say_a_day_stays() -> None:
    files = {**SMALL_PACK, "documents/notes/day.md": "---\ntitle: A day\ndate: 2026-02-12\n---\n\nOn 12 February.\n"}
    assert validate_on(files, date(2030, 1, 1)).documents["notes/day.md"].content == "On 12 February."
    with pytest.raises(InvalidPack, match="2026-02-17"):
        validate_on({**files, "tenant.yaml": files["tenant.yaml"] + "plays_on: soon\n"}, date(2030, 1, 1))


def test_weekdays_and_quotes_of_the_example_hold_in_any_week() -> None:
    written = _found_quotes(validate_on(EXAMPLE, PLAYS_ON))
    for week in WEEKS:
        pack = validate_on(EXAMPLE, PLAYS_ON + timedelta(weeks=week))
        plays_on = date.fromisoformat(pack.tenant.plays_on)
        for key, document in pack.documents.items():
            for name, day, month, year in _WEEKDAY_AND_DATE.findall(document.content):
                assert name in _weekdays(int(day), month, year, plays_on), (week, key, day, month)
        assert _found_quotes(pack) == written, week


def _weekdays(day: int, month: str, year: str, near: date) -> set[str]:
    """Return the weekday of a date; without a year those of the dates within half a year."""
    days = [near + timedelta(days=away) for away in range(-190, 190)] if not year else []
    days = [one for one in days if (one.day, f"{one:%b}") == (day, month)]
    return {f"{one:%a}" for one in days or [date.fromisoformat(_iso(day, month, year))]}


def _iso(day: int, month: str, year: str) -> str:
    number = next(at for at in range(1, 13) if f"{date(2026, at, 1):%b}" == month)
    return f"{year}-{number:02}-{day:02}"


def _found_quotes(pack: Pack) -> set[tuple[str, str, str]]:
    """Return which quotes of which scenes are in which documents."""
    return {
        (scene_name, quote_name, key)
        for scene_name, scene in pack.scenes.items()
        for quote_name, quote in scene.quotes.items()
        for key, document in pack.documents.items()
        if re.search(quote.pattern, document.content, re.MULTILINE)
    }
