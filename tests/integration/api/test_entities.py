"""Records and links over the API: written by editors, read by viewers, told apart by level and version."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import FakeQueues, VisitorSession, create_key_headers, operator_headers

CRANE = {"type": "risk", "name": "Crane not free", "key": "R-1", "properties": {"severity": "high"}}


@pytest.fixture
def editor(client: TestClient, acme: str) -> dict[str, str]:
    """An editor's key; its clearance is 1."""
    return create_key_headers(client, acme, "editor")


def made(client: TestClient, headers: dict[str, str], **body: Any) -> Any:
    answer = client.post("/v1/entities", json={**CRANE, **body}, headers=headers)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_record_is_made_read_changed_and_deleted(
    client: TestClient, editor: dict[str, str], queues: FakeQueues
) -> None:
    before = len(queues.embedding.sent)
    record = made(client, editor)
    assert (record["handle"], record["version"], record["link"]) == ("risk/R-1", 1, "/console/#/records/risk/R-1")
    assert len(queues.embedding.sent) == before + 1
    for path in ("risk/R-1", record["id"]):
        answer = client.get(f"/v1/entities/{path}", headers=editor)
        assert (answer.json(), answer.headers["ETag"]) == (record, '"1"')
    change = {"properties": {"severity": None, "state": "open"}, "version": 1}
    changed = client.patch("/v1/entities/risk/R-1", json=change, headers=editor).json()
    assert (changed["version"], changed["properties"]) == (2, {"state": "open"})
    assert client.patch(f"/v1/entities/{record['id']}", json={"name": "Crane late"}, headers=editor).status_code == 200
    before = len(queues.embedding.sent)
    assert client.delete("/v1/entities/risk/R-1", headers=editor).status_code == 204
    assert len(queues.embedding.sent) == before + 1  # whoever is linked to it has a stale Pulse
    assert client.get("/v1/entities/risk/R-1", headers=editor).status_code == 404
    assert client.get("/v1/entities", headers=editor).json() == {"entities": [], "next_cursor": ""}


def test_the_version_that_was_read_is_said_either_way(client: TestClient, editor: dict[str, str]) -> None:
    made(client, editor)
    path = "/v1/entities/risk/R-1"
    assert client.patch(path, json={"name": "A"}, headers={**editor, "If-Match": '"1"'}).status_code == 200
    for body, more in (({"name": "B", "version": 1}, {}), ({"name": "B"}, {"If-Match": "1"})):
        answer = client.patch(path, json=body, headers=editor | more)
        assert answer.status_code == 409
        assert "is at version 2, but you changed version 1" in answer.json()["error"]["message"]
    assert client.delete(path, headers={**editor, "If-Match": '"1"'}).status_code == 409
    assert client.delete(f"{path}?version=1", headers=editor).status_code == 409
    both = client.patch(path, json={"name": "B", "version": 2}, headers={**editor, "If-Match": '"1"'})
    assert both.status_code == 422
    assert client.delete(f"{path}?version=2", headers=editor).status_code == 204


def test_only_editors_write_and_visitors_do_not_even_read(client: TestClient, acme: str, visit: VisitorSession) -> None:
    viewer, nobody = create_key_headers(client, acme, "viewer"), create_key_headers(client, acme)
    made(client, operator_headers(acme))
    for headers, read, write in ((viewer, 200, 403), (nobody, 403, 403), (visit.headers, 403, 403)):
        assert client.get("/v1/entities", headers=headers).status_code == read
        assert client.get("/v1/entities/risk/R-1", headers=headers).status_code == read
        assert client.get("/v1/entity-types", headers=headers).status_code == read
        assert client.post("/v1/entities", json=CRANE, headers=headers).status_code == write
        assert client.patch("/v1/entities/risk/R-1", json={"name": "x"}, headers=headers).status_code == write
        assert client.delete("/v1/entities/risk/R-1", headers=headers).status_code == write
        link = {"source": "risk/R-1", "target": "risk/R-2", "relation": "relates_to"}
        assert client.post("/v1/links", json=link, headers=headers).status_code == write
        assert client.delete("/v1/links", params=link, headers=headers).status_code == write


def test_a_record_above_the_clearance_is_not_there(client: TestClient, acme: str, editor: dict[str, str]) -> None:
    secret = made(client, operator_headers(acme), classification=3)
    for path in ("risk/R-1", secret["id"]):
        assert client.get(f"/v1/entities/{path}", headers=editor).status_code == 404
        assert client.patch(f"/v1/entities/{path}", json={"name": "x"}, headers=editor).status_code == 404
        assert client.delete(f"/v1/entities/{path}", headers=editor).status_code == 404
    assert client.get("/v1/entities", headers=editor).json()["entities"] == []
    refused = client.post("/v1/entities", json={**CRANE, "key": "R-2", "classification": 2}, headers=editor)
    assert refused.status_code == 403


def test_the_neighbour_has_no_part_in_it(client: TestClient, editor: dict[str, str], brick: str) -> None:
    record = made(client, editor)
    assert client.get(f"/v1/entities/{record['id']}", headers=operator_headers(brick)).status_code == 404
    assert client.get("/v1/entities", headers=operator_headers(brick)).json()["entities"] == []


def test_a_call_that_is_repeated_makes_one_record(client: TestClient, editor: dict[str, str]) -> None:
    again = {**editor, "Idempotency-Key": "form-7"}
    first = made(client, again, key="")
    assert made(client, again, key="", name="Another") == first


def test_records_are_listed_by_kind_words_and_properties(client: TestClient, editor: dict[str, str]) -> None:
    for number in range(5):
        made(client, editor, key=f"R-{number}", properties={"severity": "high" if number % 2 else "low"})
    made(client, editor, type="task", key="T-1", name="Order a crane", properties={})

    def listed(query: str) -> Any:
        return client.get(f"/v1/entities?{query}", headers=editor).json()

    assert len(listed("type=risk&where.severity=high")["entities"]) == 2
    assert [one["handle"] for one in listed("text=order")["entities"]] == ["task/T-1"]
    first = listed("type=risk&limit=3")
    second = listed(f"type=risk&limit=3&cursor={first['next_cursor']}")
    handles = [one["handle"] for one in first["entities"] + second["entities"]]
    assert (sorted(handles), second["next_cursor"]) == ([f"risk/R-{number}" for number in range(5)], "")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("type=riks", "did you mean 'risk'"),
        ("type=risk&where.severty=high", "did you mean 'severity'"),
        ("cursor=x", "cursor: use the"),
        ("limit=1000", "limit"),
    ],
)
def test_a_wrong_list_says_what_is_right(client: TestClient, editor: dict[str, str], query: str, message: str) -> None:
    answer = client.get(f"/v1/entities?{query}", headers=editor)
    assert answer.status_code == 422
    assert message in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"name": "x"},
        {"type": "risk", "name": ""},
        {"type": "risk", "name": "x\u0000"},
        {"type": "risk", "name": "x", "keey": "y"},
        {"type": "risk", "name": "x", "key": "a b"},
        {"type": "risk", "name": "x", "properties": {"pulse_text": "fine"}},
        {"type": "risk", "name": "x", "properties": {"version": 3}},
        {"type": "risk", "name": "x", "properties": {"owner": {"a": 1}}},
        {"type": "risk", "name": "x", "classification": 9},
        {"type": "risk", "name": "x", "context_text": "only projects have them"},
        {"type": "contract", "name": "x", "properties": {"amount": 1e300}},
    ],
)
def test_a_wrong_record_is_refused(client: TestClient, editor: dict[str, str], body: dict[str, object]) -> None:
    assert client.post("/v1/entities", json=body, headers=editor).status_code == 422


@pytest.mark.parametrize("raw", ['{"type":"risk","name":"\\ud800"}', '{"type":"risk","name":"x","key":"\\ud800"}'])
def test_half_characters_are_refused(client: TestClient, editor: dict[str, str], raw: str) -> None:
    answer = client.post("/v1/entities", content=raw, headers=editor | {"Content-Type": "application/json"})
    assert answer.status_code == 422


def test_strange_names_and_filters_are_only_not_found(client: TestClient, editor: dict[str, str]) -> None:
    for path in ("risk/%00", "risk/a%20b", "a%2Fb/c", "00000000-0000-0000-0000-000000000000"):
        assert client.get(f"/v1/entities/{path}", headers=editor).status_code == 404, path
    assert client.get("/v1/entities?where.a%00b=%00&text=%00", headers=editor).status_code == 200


def test_links_are_made_and_taken_away(client: TestClient, editor: dict[str, str]) -> None:
    made(client, editor)
    made(client, editor, type="task", key="T-1", properties={})
    link = {"source": "task/T-1", "target": "risk/R-1", "relation": "relates_to"}
    first = client.post("/v1/links", json=link, headers=editor)
    assert (first.status_code, first.json()) == (201, {**link, "is_new": True})
    assert client.post("/v1/links", json=link, headers=editor).json()["is_new"] is False
    assert client.delete("/v1/links", params=link, headers=editor).status_code == 204
    assert client.delete("/v1/links", params=link, headers=editor).status_code == 404
    wrong = client.post("/v1/links", json={**link, "relation": "relatesto"}, headers=editor)
    assert (wrong.status_code, "did you mean 'relates_to'" in wrong.text) == (422, True)


def test_every_kind_is_listed_as_it_is_shown(client: TestClient, editor: dict[str, str]) -> None:
    types = {one["key"]: one for one in client.get("/v1/entity-types", headers=editor).json()["types"]}
    assert {"project", "document", "task", "goal", "plan", "milestone", "risk", "requirement", "output", "finding",
            "contract", "conversation"} <= types.keys()  # fmt: skip
    risk = types["risk"]
    assert (risk["name"], risk["icon"], risk["colour"], risk["has_pulses"]) == ("Risk", "warning", "red", True)
    assert {"kind", "severity", "status"} <= types["finding"]["properties"].keys()


def test_a_project_is_made_with_its_context_document(client: TestClient, editor: dict[str, str]) -> None:
    body = {
        "type": "project",
        "name": "Northbank",
        "key": "NRS",
        "context_text": "Dry by May, whatever the river does.",
    }
    assert client.post("/v1/entities", json=body, headers=editor).status_code == 201
    found = client.get("/v1/entities?type=document&project=project/NRS", headers=editor).json()["entities"]
    assert len(found) == 1
