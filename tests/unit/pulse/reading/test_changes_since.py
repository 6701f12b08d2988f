"""What came after a Pulse, in one line that no model wrote."""

from datetime import UTC, datetime, timedelta

import pytest

from parlour.infra.json_values import JsonObject
from parlour.pulse.reading.changes_since import (
    ChangeSincePulse,
    StaleMark,
    filter_visible_marks,
    render_changes,
    stale_marks,
)

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def change(cause: str, title: str, content: str = "", total: int = 1, minutes: int = 0) -> ChangeSincePulse:
    at = NOW + timedelta(minutes=minutes)
    return ChangeSincePulse(cause, title, content, at, total, at, ["context_rows/1"], 0)


def delta(name: str, what: str) -> str:
    return f"[2026-03-02 09:30] {name} (Task): {what}, by a member"


def test_a_change_of_the_record_is_told_without_its_name() -> None:
    found = [change("changed", "Crane hire", delta("Crane hire", "state: done (was open)"))]
    assert render_changes(found, ["changed"]) == "Since then: 1 change of it (state: done (was open))."


def test_a_change_of_what_belongs_to_it_is_told_with_the_name() -> None:
    found = [change("child_changed", "Crane hire", delta("Crane hire", "state: done (was open)"))]
    assert render_changes(found, ["child_changed"]) == (
        "Since then: 1 change of what belongs to it (Crane hire: state: done (was open))."
    )


def test_what_is_not_told_is_counted() -> None:
    found = [change("file_ingested", f"Report {number}.pdf", total=7) for number in range(3)]
    assert render_changes(found, ["file_ingested"]) == (
        "Since then: 7 new files (Report 0.pdf; Report 1.pdf; Report 2.pdf; ...)."
    )


def test_every_cause_has_its_part_and_nothing_makes_no_line() -> None:
    found = [change("file_ingested", "Report.pdf"), change("changed", "Works", delta("Works", "budget: 5"))]
    assert render_changes(found, ["changed", "file_ingested", "age"]) == (
        "Since then: 1 change of it (budget: 5); 1 new file (Report.pdf); it is a day old."
    )
    assert render_changes([], []) == ""


def test_a_cause_that_nothing_shows_is_still_told() -> None:
    assert render_changes([], ["file_deleted", "manual"]) == "Since then: 1 file deleted; somebody asked for it anew."


@pytest.mark.parametrize("name", ["Crane (hire): east", "a] b", "x, by y"])
def test_names_with_the_rows_own_signs_in_them_make_one_line(name: str) -> None:
    told = render_changes([change("changed", name, delta(name, "state: done"))], [])
    assert "\n" not in told
    assert "state: done" in told


def test_a_long_change_is_cut() -> None:
    told = render_changes([change("changed", "Works", delta("Works", "note: " + "very " * 100))], [])
    assert len(told) < 150
    assert "…" in told


def test_marks_without_a_time_are_as_old_as_the_oldest() -> None:
    later = NOW + timedelta(hours=1)
    kept: JsonObject = {"changed": {"since": later.isoformat(), "first": 2, "last": 3}}
    assert stale_marks(["changed", "age"], kept, NOW) == [StaleMark("changed", later), StaleMark("age", NOW)]


def test_a_mark_of_something_that_the_reader_may_not_see_is_none_for_them() -> None:
    """A restricted file and an open change left marks; who sees the change alone hears of it alone, and since when it
    was."""
    found = [StaleMark("file_ingested", NOW), StaleMark("changed", NOW), StaleMark("type_changed", NOW)]
    seen = [change("changed", "Works", delta("Works", "budget: 5"), minutes=5)]
    assert filter_visible_marks(found, seen) == [
        StaleMark("changed", NOW + timedelta(minutes=5)),
        StaleMark("type_changed", NOW),
    ]
    assert filter_visible_marks(found[:1], []) == []
