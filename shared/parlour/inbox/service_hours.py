"""Opening hours and service times of a binding: when somebody is on duty, and when an answer is due. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo

from parlour.infra.json_values import Json, JsonObject
from parlour.tenancy.persona import Persona
from parlour.text.local_times import Locale

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

TIME_ZONE_SETTING = "time_zone"
"""The tenant's setting with its time zone."""

_MAX_DAYS = 60
"""How far ahead a due time is looked for; hours that open less are never due."""


@dataclass(frozen=True, slots=True)
class OpeningHours:
    """When people are on duty. spans: by weekday from 0 (Monday), pairs of local times."""

    time_zone: ZoneInfo
    spans: Mapping[int, tuple[tuple[time, time], ...]]

    @classmethod
    def parse(cls, settings: Json) -> "OpeningHours | None":
        """Read {"time_zone": "Asia/Kolkata", "monday": ["09:00-13:00"]}; None without settings: always open."""
        if not isinstance(settings, dict) or not settings:
            return None
        spans = {day: _parse_spans(settings.get(name)) for day, name in enumerate(WEEKDAYS)}
        return cls(ZoneInfo(str(settings.get("time_zone", "UTC"))), spans)

    def spans_from(self, start: datetime) -> list[tuple[datetime, datetime]]:
        """Return the open spans from `start` on, the first cut at `start`."""
        first = start.astimezone(self.time_zone).date()
        found = []
        for offset in range(_MAX_DAYS):
            day = first + timedelta(days=offset)
            for opens, closes in self.spans.get(day.weekday(), ()):
                begin = datetime.combine(day, opens, self.time_zone).astimezone(start.tzinfo)
                end = datetime.combine(day, closes, self.time_zone).astimezone(start.tzinfo)
                if end > start:
                    found.append((max(begin, start), end))
        return found


@dataclass(frozen=True, slots=True)
class Service:
    """The service times of a binding, in minutes of opening hours; None: no clock.

    waiting_minutes  after how long the user is told that it takes longer, and the conversation is escalated.
    """

    first_response_minutes: int | None = None
    resolution_minutes: int | None = None
    waiting_minutes: int | None = None
    hours: OpeningHours | None = None

    @classmethod
    def parse(cls, inbox: JsonObject) -> "Service":
        """Read a binding's `inbox` setting."""
        settings = inbox.get("service")
        if not isinstance(settings, dict):
            return cls()
        return cls(
            _minutes(settings.get("first_response_minutes")),
            _minutes(settings.get("resolution_minutes")),
            _minutes(settings.get("waiting_minutes")),
            OpeningHours.parse(settings.get("hours")),
        )

    def is_open(self, now: datetime) -> bool:
        """Whether somebody is on duty."""
        return self.hours is None or self.next_opening(now) == now

    def next_opening(self, now: datetime) -> datetime | None:
        """Return when somebody is on duty next: `now` while open; None when hours never open."""
        if self.hours is None:
            return now
        return next((begin for begin, _ in self.hours.spans_from(now)), None)

    def due_at(self, now: datetime, minutes: int | None) -> datetime | None:
        """Return the time when so many open minutes have passed since `now`; None without a clock."""
        if minutes is None:
            return None
        left = timedelta(minutes=minutes)
        if self.hours is None:
            return now + left
        for begin, end in self.hours.spans_from(now):
            if end - begin >= left:
                return begin + left
            left -= end - begin
        return None

    def describe_duty(self, now: datetime) -> str:
        """Return until when the team is on duty today, or when it is back; "" without hours or future openings."""
        spans = self.hours.spans_from(now) if self.hours else []
        if self.hours is None or not spans:
            return ""
        local = [(begin.astimezone(self.hours.time_zone), end.astimezone(self.hours.time_zone)) for begin, end in spans]
        opening = local[0][0]
        if opening != now:
            return f"team back {opening:%a %H:%M}"
        closing = max(end for begin, end in local if begin.date() == opening.date())
        return f"team on duty until {closing:%H:%M}"

    def describe_opening(self, now: datetime) -> str:
        """Return when somebody is on duty next, as the user reads it: "Monday 09:00"; empty when never."""
        opening = self.next_opening(now)
        if opening is None or self.hours is None:
            return ""
        return f"{opening.astimezone(self.hours.time_zone):%A %H:%M}"


def local_zone(tenant_settings: JsonObject, inbox: JsonObject) -> ZoneInfo:
    """Return the zone in which a binding's users read times: that of its hours, else the tenant's, else UTC."""
    hours = Service.parse(inbox).hours
    return hours.time_zone if hours else ZoneInfo(str(tenant_settings.get(TIME_ZONE_SETTING) or "UTC"))


def persona_locale(persona: Persona) -> Locale:
    """Return how the users of a persona read times: in its first language, in the zone of its binding."""
    return Locale.choose(persona.human.languages, local_zone(persona.tenant.settings, persona.binding.inbox))


def _parse_spans(value: Json) -> tuple[tuple[time, time], ...]:
    texts = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return tuple(parse_span(str(text)) for text in texts)


def parse_span(text: str) -> tuple[time, time]:
    """Read "09:00-18:00"; ValueError for anything else, and for an end that is not after its beginning."""
    begin, _, end = text.partition("-")
    span = (time.fromisoformat(begin.strip()), time.fromisoformat(end.strip()))
    if span[0] >= span[1]:
        raise ValueError("hours end after they begin")
    return span


def _minutes(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
