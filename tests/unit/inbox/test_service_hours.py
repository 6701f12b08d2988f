"""Service times count opening hours only, in the binding's own time zone."""

from datetime import UTC, datetime, timedelta

import pytest

from parlour.inbox.service_hours import Service, local_zone
from parlour.infra.json_values import JsonObject

LONDON: JsonObject = {
    "time_zone": "Europe/London",
    "monday": ["09:00-12:00", "13:00-17:00"],
    "friday": ["09:00-17:00"],
}
SATURDAY = datetime(2026, 3, 28, 10, 0, tzinfo=UTC)
MONDAY_NOON = datetime(2026, 3, 30, 10, 30, tzinfo=UTC)  # 11:30 in London: summer time began on Sunday


def service(hours: JsonObject | None = LONDON, **minutes: int) -> Service:
    return Service.parse({"service": {**minutes, **({"hours": hours} if hours else {})}})


def test_a_closed_weekend_leads_to_monday_in_summer_time() -> None:
    assert not service().is_open(SATURDAY)
    assert service().next_opening(SATURDAY) == datetime(2026, 3, 30, 8, 0, tzinfo=UTC)
    assert service().describe_opening(SATURDAY) == "Monday 09:00"


@pytest.mark.parametrize(
    ("start", "minutes", "due"),
    [
        (MONDAY_NOON, 15, MONDAY_NOON + timedelta(minutes=15)),
        (MONDAY_NOON, 60, datetime(2026, 3, 30, 12, 30, tzinfo=UTC)),  # half an hour of it is lunch
        (MONDAY_NOON, 5 * 60, datetime(2026, 4, 3, 8, 30, tzinfo=UTC)),  # the rest is on Friday
        (SATURDAY, 30, datetime(2026, 3, 30, 8, 30, tzinfo=UTC)),
    ],
)
def test_only_open_minutes_count(start: datetime, minutes: int, due: datetime) -> None:
    assert service().due_at(start, minutes) == due


def test_without_hours_somebody_is_always_there() -> None:
    always = service(None, first_response_minutes=15)
    assert always.is_open(SATURDAY)
    assert always.due_at(SATURDAY, always.first_response_minutes) == SATURDAY + timedelta(minutes=15)
    assert always.due_at(SATURDAY, always.resolution_minutes) is None


def test_hours_that_never_open_are_never_due() -> None:
    never = service({"time_zone": "UTC"})
    assert (never.is_open(SATURDAY), never.due_at(SATURDAY, 5), never.describe_opening(SATURDAY)) == (False, None, "")


@pytest.mark.parametrize(
    ("now", "text"),
    [
        (MONDAY_NOON, "team on duty until 17:00"),  # lunch ends no day
        (datetime(2026, 3, 30, 11, 30, tzinfo=UTC), "team back Mon 13:00"),
        (datetime(2026, 3, 30, 17, 0, tzinfo=UTC), "team back Fri 09:00"),
    ],
)
def test_the_working_day_is_in_local_time(now: datetime, text: str) -> None:
    assert service().describe_duty(now) == text


def test_without_hours_there_is_no_working_day() -> None:
    assert service(None).describe_duty(SATURDAY) == ""
    assert service({"time_zone": "UTC"}).describe_duty(SATURDAY) == ""


def test_the_zone_of_the_hours_goes_before_the_tenants() -> None:
    inbox: JsonObject = {"service": {"hours": LONDON}}
    assert str(local_zone({"time_zone": "Asia/Kolkata"}, inbox)) == "Europe/London"
    assert str(local_zone({"time_zone": "Asia/Kolkata"}, {})) == "Asia/Kolkata"
    assert str(local_zone({}, {})) == "UTC"
