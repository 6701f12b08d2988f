"""Pulses: what is going on with a record, cited, for each level of clearance."""

from typing import Any

from tests.stories import words
from tests.stories.clients import Api, Command
from tests.stories.stack import until

_PARTIES = {"client": "Kestrel Dock Trust", "contractor": "Fennimore Build", "status": "on site"}


def _pulse(api: Api, handle: str) -> dict[str, Any]:
    found: dict[str, Any] = api.get(f"{words.ENTITIES}/{handle}/pulse", poll="true")
    return found


def _refresh(api: Api, handle: str, *, says: str) -> dict[str, Any]:
    """Have the Pulse written now; return it once its text has the word."""
    api.ask("POST", f"{words.ENTITIES}/{handle}/pulse/refresh")

    def look() -> dict[str, Any] | None:
        found = _pulse(api, handle)
        return found if found["pulse"] and says in found["pulse"]["markdown"] else None

    pulse = until(look, f"a Pulse of {handle} that says {says}")
    assert pulse is not None
    return pulse


def test_change_of_a_record_is_told_at_once_and_then_by_its_pulse(operator: Api) -> None:
    properties = {**_PARTIES, "forecast_completion": "2027-02-12"}
    handle = operator.record("project", "Avocet Lock", properties=properties)
    first = _refresh(operator, handle, says="2027-02-12")["pulse"]
    sources = {citation["number"] for citation in first["citations"]}
    assert sources
    assert all(set(statement["sources"]) <= sources for statement in first["statements"])

    operator.ask("PATCH", f"{words.ENTITIES}/{handle}", {"properties": {"forecast_completion": "2027-03-05"}})
    stale = _pulse(operator, handle)
    assert stale["pulse"]["markdown"] == first["markdown"]
    assert stale[words.STALE_SINCE]
    assert "2027-03-05" in stale[words.CHANGES_SINCE]

    fresh = _refresh(operator, handle, says="2027-03-05")
    assert fresh["pulse"]["version"] == first["version"] + 1
    assert (fresh[words.STALE_SINCE], fresh[words.CHANGES_SINCE]) == (None, "")


def test_pulse_tells_each_level_of_clearance_what_it_may_see(operator: Api) -> None:
    low, high = operator.key_for("viewer", clearance=1), operator.key_for("viewer", clearance=3)
    handle = operator.record("project", "Dunlin Weir", properties=_PARTIES)
    operator.record(
        "risk",
        "Scour below the dunlin pier",
        project=handle,
        classification=3,
        properties={"severity": "high", "state": "open", "owner": "Elspeth Moran"},
    )
    above = _refresh(high, handle, says="dunlin pier")
    below = until(lambda: _pulse(low, handle)["pulse"], "the Pulse of the lower level")
    assert above["pulse"]["level"] == 3
    assert below["level"] <= 1
    assert "Fennimore Build" in below["markdown"]
    assert "dunlin pier" not in str(_pulse(low, handle))
    assert "dunlin pier" not in low.send("GET", f"{words.ENTITIES}/{handle}/pulse/history").text


def test_pulse_commands_print_text_history_difference_and_reason(operator: Api, command: Command) -> None:
    handle = operator.record("project", "Curlew Basin", properties={**_PARTIES, "forecast_completion": "2027-02-12"})
    _refresh(operator, handle, says="2027-02-12")
    operator.ask("PATCH", f"{words.ENTITIES}/{handle}", {"properties": {"forecast_completion": "2027-03-05"}})
    assert "2027-03-05" in command.print("pulse", "refresh", handle)
    assert "Curlew Basin" in command.print("pulse", "show", handle)
    history = command.print("pulse", "show", handle, "--history")
    assert ["2027-03-05" in history, "2027-02-12" in history] == [True, True]
    difference = command.print("pulse", "show", handle, "--diff")
    assert any(line.startswith("-") and "2027-02-12" in line for line in difference.splitlines())
    assert any(line.startswith("+") and "2027-03-05" in line for line in difference.splitlines())
    assert words.SAME_BYTES in command.print("pulse", "explain", handle)
    assert handle in command.print("pulse", "stats")


def test_question_about_a_record_is_answered_for_its_asker_alone(operator: Api, command: Command) -> None:
    handle = operator.record("project", "Teal Harbour", properties={**_PARTIES, "forecast_completion": "2028-01-31"})
    answered = command.json("pulse", "refresh", handle, "--question", "When will Teal Harbour be complete?")
    assert "2028-01-31" in answered["markdown"]
    assert answered["citations"]
    reader = operator.key_for("viewer", clearance=3)
    path = f"{words.ENTITIES}/{handle}/pulse/questions/{answered['id']}"
    assert reader.status("GET", path) == 404
