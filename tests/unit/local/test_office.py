"""The laptop's site office: it does what it is sent each time, and tells by key what came."""

from datetime import datetime

import pytest
from fastapi.testclient import TestClient

from local.office import Office, build_app
from parlour.infra.json_values import JsonObject

type CalledBack = list[tuple[str, JsonObject]]


@pytest.fixture
def called_back() -> CalledBack:
    return []


@pytest.fixture
def office(now: datetime, called_back: CalledBack) -> TestClient:
    made = Office(lambda: now, wait=lambda _: None)
    return TestClient(build_app(made, lambda url, result: called_back.append((url, result))))


def test_what_is_sent_twice_is_done_twice_and_the_first_is_found_by_its_key(office: TestClient) -> None:
    sent = {"json": {"subject": "Crack at C4"}, "headers": {"idempotency-key": "turn:1:a/b"}}
    assert office.get("/rfis/by-key/turn:1:a/b").status_code == 404
    assert [office.post("/rfis", **sent).json()["number"] for _ in range(2)] == ["RFI-101", "RFI-102"]  # type: ignore[arg-type]
    assert office.get("/rfis/by-key/turn%3A1%3Aa%2Fb").json()["number"] == "RFI-101"
    assert len(office.get("/done").json()["rfis"]) == 2


def test_a_report_is_answered_or_called_back(office: TestClient, called_back: CalledBack) -> None:
    office.post("/rfis", json={"subject": "Crack at C4"})
    assert office.post("/reports", json={"title": "Open"}).json()["open_requests"] == ["Crack at C4"]
    later = office.post("/reports/later", json={}, headers={"parlour-callback": "https://p.example/cb"})
    assert later.status_code == 202
    ((url, result),) = called_back
    assert (url, result["number"]) == ("https://p.example/cb", "REP-102")


def test_it_starts_again_with_nothing(office: TestClient) -> None:
    office.post("/notifications", json={"message": "Stop the crane."})
    office.delete("/done")
    assert office.get("/done").json() == {"rfis": [], "notifications": [], "reports": []}


def test_the_answer_to_the_first_page_is_lost_when_the_line_is_bad(now: datetime) -> None:
    office = TestClient(build_app(Office(lambda: now, loses_first_page=True), lambda _url, _result: None))
    answers = [office.post("/notifications", json={"message": "Clear C4."}).status_code for _ in range(2)]
    assert answers == [500, 201]
    assert len(office.get("/done").json()["notifications"]) == 2
