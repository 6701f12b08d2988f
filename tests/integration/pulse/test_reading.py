"""A record's Pulse as it is read: what it says, what came since, and what a reader may know of either."""

from datetime import datetime, timedelta

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import QueueUnavailable
from parlour.infra.json_values import JsonObject
from tests.integration.api.conftest import create_key_headers
from tests.integration.pulse.pulse_api_harness import PULSE, PulseApiHarness

NOBODY = "7225e6ee-8dd8-4b94-82d4-f80ae0938e2f"


def test_before_the_first_there_is_none_and_why_one_is_due(pulse_api: PulseApiHarness) -> None:
    found = pulse_api.get()
    assert (found["record"], found["name"], found["pulse"], found["is_withheld"]) == (
        "project/NRS",
        "River station",
        None,
        False,
    )
    assert "changed" in [one["cause"] for one in found["causes"]]
    assert found["stale_since"]
    assert found["changes_text"] == ""


def test_it_is_written_when_asked_for_and_read_with_its_sources(pulse_api: PulseApiHarness, client: TestClient) -> None:
    pulse_api.write()
    found = pulse_api.get()
    assert (found["stale_since"], found["causes"], found["changes"]) == (None, [], {})
    pulse = found["pulse"]
    assert (pulse["level"], pulse["version"]) == (0, 1)
    assert "River station" in pulse["markdown"]
    numbers = {number for statement in pulse["statements"] for number in statement["sources"]}
    assert {one["number"] for one in pulse["citations"]} == numbers
    assert "#/records/project/NRS" in [one["link"] for one in pulse["citations"]]
    record = client.get("/v1/entities/project/NRS", headers=pulse_api.all).json()["id"]
    by_id = client.get(f"/v1/entities/{record}/pulse", headers=pulse_api.all).json()
    assert by_id == pulse_api.get()


def test_what_changed_is_told_at_once_and_the_text_stays_until_it_is_written_anew(pulse_api: PulseApiHarness) -> None:
    pulse_api.write()
    before = pulse_api.get()["pulse"]
    pulse_api.clock.advance(minutes=1)
    pulse_api.change("project/NRS", properties={"state": "done"})
    pulse_api.change("task/T-1", properties={"state": "done"})
    found = pulse_api.get()
    assert found["pulse"] == before
    assert found["changes_text"] == (
        "Since then: 1 change of it (state: done (was open));"
        " 1 change of what belongs to it (Pour the slab: state: done (was open))."
    )
    assert found["changes"] == {"changed": 1, "child_changed": 1}
    assert datetime.fromisoformat(found["stale_since"]) == pulse_api.clock.now
    pulse_api.write()
    assert pulse_api.get()["changes_text"] == ""
    assert pulse_api.get()["pulse"]["version"] == 2


def test_a_reader_hears_nothing_of_what_is_above_them(pulse_api: PulseApiHarness) -> None:
    """Neither that something waits, nor what, nor how many; nor, once it is written, a word of it."""
    pulse_api.write()
    pulse_api.clock.advance(minutes=1)
    pulse_api.make(
        type="task",
        key="T-9",
        name="Agree the secret price",
        project="project/NRS",
        classification=3,
        properties={"state": "open"},
    )
    reader = pulse_api.reader()
    found = pulse_api.get("", reader)
    assert (found["stale_since"], found["causes"], found["changes_text"], found["changes"]) == (None, [], "", {})
    assert pulse_api.get()["stale_since"]
    assert "Agree the secret price" in pulse_api.get()["changes_text"]
    pulse_api.write()
    low, high = pulse_api.get("", reader)["pulse"], pulse_api.get()["pulse"]
    assert (low["level"], high["level"]) == (0, 3)
    assert "Agree the secret price" in str(high)
    told = [low, pulse_api.get("/history", reader), pulse_api.get("/diff", reader), pulse_api.get("/prompt", reader)]
    assert "secret" not in str(told).casefold()
    assert "Task, state: open 2" in low["markdown"]
    assert "Task, state: open 3" in high["markdown"]


def test_what_was_told_from_something_that_is_closed_now_is_withheld_until_it_is_written_anew(
    pulse_api: PulseApiHarness,
) -> None:
    pulse_api.write()
    reader = pulse_api.reader()
    assert pulse_api.get("", reader)["pulse"]
    pulse_api.clock.advance(minutes=1)
    pulse_api.change("task/T-1", classification=3)
    found = pulse_api.get("", reader)
    assert (found["pulse"], found["is_withheld"]) == (None, True)
    assert "Pour the slab" not in str(found)
    assert pulse_api.get("/history", reader)["versions"] == []
    pulse_api.get("/diff", reader, status=404)
    pulse_api.get("/prompt", reader, status=404)
    pulse_api.write()
    found = pulse_api.get("", reader)
    assert found["is_withheld"] is False
    assert "Pour the slab" not in str(found)
    assert len(pulse_api.get("/history", reader)["versions"]) == 1


def test_a_cause_that_is_anybodys_business_is_told_to_everybody(pulse_api: PulseApiHarness) -> None:
    pulse_api.write()
    pulse_api.ask()
    assert [one["cause"] for one in pulse_api.get("", pulse_api.reader())["causes"]] == ["manual"]


def test_looking_is_counted_and_a_page_that_looks_by_itself_is_not(
    pulse_api: PulseApiHarness, client: TestClient
) -> None:
    pulse_api.write()
    pulse_api.get()
    pulse_api.clock.advance(minutes=1)
    pulse_api.change("project/NRS", properties={"budget": 6000})
    pulse_api.clock.advance(seconds=20)
    pulse_api.get()
    pulse_api.get(poll=True)
    found = client.get("/v1/pulses", headers=pulse_api.all).json()
    total = found["total"]
    assert (total["reads"], total["stale_reads"], total["regenerated"]) == (2, 1, 1)
    assert (total["average_staleness_seconds"], total["max_staleness_seconds"]) == (10.0, 20.0)
    assert found["most_expensive"][0]["record"] == "project/NRS"
    assert (found["now"]["record_count"], found["now"]["cap_usd"], found["now"]["has_own_cap"]) == (1, "2", False)


def test_the_same_again_is_no_new_text_and_says_so(pulse_api: PulseApiHarness, client: TestClient) -> None:
    pulse_api.write()
    first = pulse_api.get()["pulse"]
    pulse_api.clock.advance(minutes=1)
    pulse_api.write()
    again = pulse_api.get()["pulse"]
    assert (again["version"], again["generated_at"]) == (1, first["generated_at"])
    assert again["checked_at"] > first["checked_at"]
    total = client.get("/v1/pulses", headers=pulse_api.all).json()["total"]
    assert (total["regenerated"], total["skipped"]) == (1, 1)


def test_what_it_said_before_is_kept_and_compared(pulse_api: PulseApiHarness) -> None:
    pulse_api.write()
    pulse_api.clock.advance(minutes=1)
    pulse_api.change("project/NRS", properties={"budget": 7000})
    pulse_api.write()
    found = pulse_api.get("/history")
    assert [one["version"] for one in found["versions"]] == [2, 1]
    assert "changed" in [one["cause"] for one in found["versions"][0]["causes"]]
    first = pulse_api.get("/history", limit=1)
    assert [one["version"] for one in pulse_api.get("/history", limit=1, cursor=first["next_cursor"])["versions"]] == [
        1
    ]
    changed = pulse_api.get("/diff")
    assert (changed["before"]["version"], changed["after"]["version"]) == (1, 2)
    assert "7000" in str(changed["changed"]) + str(changed["added"])
    assert pulse_api.get("/diff", after=1)["before"] is None
    pulse_api.get("/diff", before=7, status=404)


def test_an_answer_is_its_askers_alone_and_leaves_the_pulse_as_it_was(pulse_api: PulseApiHarness) -> None:
    pulse_api.write()
    before = pulse_api.get()["pulse"]
    reader, other = pulse_api.reader(), pulse_api.reader()
    asked = pulse_api.ask("What is open?", reader)
    path = f"/questions/{asked['question_id']}"
    assert pulse_api.get(path, reader)["answered_at"] is None
    pulse_api.deliver()
    found = pulse_api.get(path, reader)
    assert (found["question"], found["problem"], found["is_withheld"]) == ("What is open?", None, False)
    assert found["markdown"]
    pulse_api.get(path, other, status=404)
    pulse_api.get(path, status=404)
    assert pulse_api.get()["pulse"] == before
    pulse_api.change("task/T-1", classification=3)
    closed = pulse_api.get(path, reader)
    assert (closed["markdown"], closed["citations"], closed["is_withheld"]) == ("", [], True)


def test_a_refresh_is_ordered_and_waits_for_no_window(pulse_api: PulseApiHarness) -> None:
    pulse_api.write()
    pulse_api.clock.advance(minutes=1)
    assert pulse_api.ask() == {"record": "project/NRS", "question_id": None}
    [(body, seconds)] = pulse_api.queues.pulse.sent
    assert (set(body), seconds) == ({"tenant_id", "entity_id"}, 0)
    found = pulse_api.get()
    assert datetime.fromisoformat(found["due_at"]) <= pulse_api.clock.now + timedelta(seconds=1)


class UnavailableQueue:
    """A queue that takes nothing."""

    def send(self, _body: JsonObject, _seconds: float, /) -> None:
        raise QueueUnavailable("away")


def test_a_queue_that_is_away_loses_no_refresh_and_takes_no_question(
    pulse_api: PulseApiHarness, client: TestClient
) -> None:
    pulse_api.write()
    services = client.app.state.services  # type: ignore[attr-defined]
    kept = services.pulse_queue
    object.__setattr__(services, "pulse_queue", UnavailableQueue())
    try:
        assert pulse_api.ask()
        assert [one["cause"] for one in pulse_api.get()["causes"]] == ["manual"]
        answer = client.post(f"{PULSE}/refresh", json={"question": "Why?"}, headers=pulse_api.all)
        assert answer.status_code == 503
    finally:
        object.__setattr__(services, "pulse_queue", kept)


@pytest.mark.parametrize("path", ["task/T-1", "project/NONE", NOBODY])
def test_a_record_without_a_pulse_has_none(pulse_api: PulseApiHarness, client: TestClient, path: str) -> None:
    for method, part in (("GET", ""), ("GET", "/history"), ("GET", "/diff"), ("POST", "/refresh")):
        answer = client.request(method, f"/v1/entities/{path}/pulse{part}", headers=pulse_api.all)
        assert answer.status_code == 404, (method, part, answer.text)


def test_who_may_not_read_records_reads_no_pulse(pulse_api: PulseApiHarness, client: TestClient) -> None:
    nobody = create_key_headers(client, pulse_api.tenant)
    pulse_api.get("", nobody, status=403)
    assert client.post(f"{PULSE}/refresh", headers=nobody).status_code == 403
    assert client.get("/v1/pulses", headers=nobody).status_code == 403


def test_a_question_has_a_length(pulse_api: PulseApiHarness, client: TestClient) -> None:
    for question, status in (("x" * 1_000, 202), ("x" * 1_001, 422), ("\0", 422)):
        answer = client.post(f"{PULSE}/refresh", json={"question": question}, headers=pulse_api.all)
        assert answer.status_code == status, question[:10]


def test_the_days_budget_is_the_tenants_own_when_an_administrator_says_so(
    pulse_api: PulseApiHarness, client: TestClient
) -> None:
    reader = pulse_api.reader()
    assert client.put("/v1/pulses/cap", json={"pulse_daily_cap_usd": "0.5"}, headers=reader).status_code == 403
    answer = client.put("/v1/pulses/cap", json={"pulse_daily_cap_usd": "0.5"}, headers=pulse_api.all)
    assert (answer.json()["now"]["cap_usd"], answer.json()["now"]["has_own_cap"]) == ("0.5000", True)
    assert client.put("/v1/pulses/cap", json={"pulse_daily_cap_usd": "-1"}, headers=pulse_api.all).status_code == 422
    answer = client.put("/v1/pulses/cap", json={"pulse_daily_cap_usd": None}, headers=pulse_api.all)
    assert answer.json()["now"]["has_own_cap"] is False


def test_the_prompt_that_it_came_of_is_explained(pulse_api: PulseApiHarness) -> None:
    pulse_api.write()
    found = pulse_api.get("/prompt")
    assert (found["record"], found["is_identical"], found["is_erased"]) == ("project/NRS", True, False)
    assert {one["kind"] for one in found["candidates"]} >= {"counts", "record"}
    assert found["tokens"] <= found["budget"]
    pulse_api.get("/prompt", version=9, status=404)
