"""Times and days as people read them: in their zone, with the weekday in their language. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, tzinfo

_WEEKDAYS = {
    "de": "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    "es": "lunes martes miércoles jueves viernes sábado domingo",
    "fr": "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "hi": "सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार",
    "mr": "सोमवार मंगळवार बुधवार गुरुवार शुक्रवार शनिवार रविवार",
}
"""Monday to Sunday, in the languages of built-in texts besides English."""


@dataclass(frozen=True, slots=True)
class Locale:
    """Where and how times are read.

    language  a code, as "hi"; one without names here reads English ones.
    """

    language: str = "en"
    zone: tzinfo = UTC

    @classmethod
    def choose(cls, languages: Iterable[str], zone: tzinfo) -> "Locale":
        """Return the locale of the first language that has names here."""
        codes = (language.partition("-")[0] for language in languages)
        return cls(next((code for code in codes if code == "en" or code in _WEEKDAYS), "en"), zone)

    def day_text(self, day: date) -> str:
        """Return a day with its weekday: "Thursday 3 December 2026", "Donnerstag 3.12.2026"."""
        names = _WEEKDAYS.get(self.language, "").split()
        if names:
            return f"{names[day.weekday()]} {day.day}.{day.month}.{day.year}"
        return f"{day:%A} {day.day} {day:%B %Y}"

    def time_text(self, at: datetime) -> str:
        """Return a time in the zone: "Thursday 3 December 2026 10:30 GMT"; a time without a zone as it is written."""
        local = at if at.tzinfo is None else at.astimezone(self.zone)
        return f"{self.day_text(local.date())} {local:%H:%M %Z}".rstrip()
