"""What a record is linked to over the API, and conversations about a record."""

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import VisitorSession, create_key_headers, operator_headers, sample_pack_files

NOBODY = "7225e6ee-8dd8-4b94-82d4-f80ae0938e2f"
"""The id of nothing."""

TASK = """
display_name: Task
properties: {state: {type: text}}
rag: {status_properties: [state]}
"""
TASKS = """
- {key: T-1, name: Pour the slab, properties: {state: open}, links: [{relation: depends_on, to: task/T-2}]}
- {key: T-2, name: Order the concrete, properties: {state: done}, links: [{relation: depends_on, to: task/T-1}]}
- {key: T-3, name: Agree the price, classification: restricted, links: [{relation: depends_on, to: task/T-1}]}
"""


@pytest.fixture
def yard(client: TestClient) -> str:
    """A tenant with three tasks, one of them restricted."""
    files = sample_pack_files("yard", "yard.example") | {"entity_types/task.yaml": TASK, "entities/task.yaml": TASKS}
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers("yard"))
    assert answer.status_code == 200, answer.text
    return "yard"


def begin(client: TestClient, about: object, **headers: str) -> tuple[int, dict[str, object]]:
    body = {"tenant": "yard", "binding": "desk", "entity": about}
    answer = client.post("/v1/sessions", json=body, headers=headers)
    return answer.status_code, answer.json()


def test_links_are_told_both_ways_with_what_they_mean(client: TestClient, yard: str) -> None:
    told = client.get("/v1/entities/task/T-1/links", headers=operator_headers(yard)).json()
    assert (told["record"], told["name"], told["next_cursor"]) == ("task/T-1", "Pour the slab", "")
    assert told["types"] == [{"type": "task", "name": "Task", "total": 2}]
    (second,) = [link for link in told["links"] if link["handle"] == "task/T-2"]
    assert second == {
        "handle": "task/T-2",
        "name": "Order the concrete",
        "type": "task",
        "type_name": "Task",
        "state": "done",
        "subtype": "",
        "due": "",
        "description": "",
        "is_context": False,
        "relations": [
            {"relation": "depends_on", "direction": "outgoing", "reads": "needs first"},
            {"relation": "depends_on", "direction": "incoming", "reads": "is needed first by"},
        ],
    }


def test_a_record_may_be_named_by_its_id(client: TestClient, yard: str) -> None:
    record = client.get("/v1/entities/task/T-1", headers=operator_headers(yard)).json()
    told = client.get(f"/v1/entities/{record['id']}/links", headers=operator_headers(yard)).json()
    assert told == client.get("/v1/entities/task/T-1/links", headers=operator_headers(yard)).json()


def test_links_are_read_by_page_and_kind(client: TestClient, yard: str) -> None:
    def read(query: str) -> dict[str, object]:
        answer = client.get(f"/v1/entities/task/T-1/links?{query}", headers=operator_headers(yard))
        return dict(answer.json())

    first = read("limit=1")
    second = read(f"cursor={first['next_cursor']}")
    assert second["next_cursor"] == ""
    assert first["links"] != second["links"]
    assert read("type=risk")["links"] == []


def test_a_reader_below_sees_neither_the_record_nor_its_number(client: TestClient, yard: str) -> None:
    headers = create_key_headers(client, yard, "viewer")
    told = client.get("/v1/entities/task/T-1/links", headers=headers).json()
    assert [link["handle"] for link in told["links"]] == ["task/T-2"]
    assert told["types"][0]["total"] == 1
    assert client.get("/v1/entities/task/T-3/links", headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("task/T-9/links", 404),
        ("nothing/at-all/links", 404),
        (f"{NOBODY}/links", 404),
        ("task/T-1/links?cursor=x", 422),
        ("task/T-1/links?type=No!", 422),
        ("task/T%00/links", 404),
    ],
)
def test_what_is_not_there_or_not_asked_well_is_refused(client: TestClient, yard: str, path: str, status: int) -> None:
    assert client.get(f"/v1/entities/{path}", headers=operator_headers(yard)).status_code == status


def test_links_are_for_people_of_the_tenant(client: TestClient, yard: str, acme: str, visit: VisitorSession) -> None:
    address = "/v1/entities/task/T-1/links"
    assert client.get(address, headers=create_key_headers(client, yard)).status_code == 403
    assert client.get(address, headers=visit.headers).status_code == 403
    assert client.get(address, headers=create_key_headers(client, acme, "viewer")).status_code == 404
    assert client.get(address).status_code == 401


def test_a_conversation_is_opened_about_a_record_and_says_so(client: TestClient, yard: str) -> None:
    status, opened = begin(client, "task/T-1")
    assert (status, opened["entity"]) == (201, {"handle": "task/T-1", "name": "Pour the slab"})
    mine = {"Authorization": f"Bearer {opened['token']}"}
    for headers in (mine, operator_headers(yard)):
        shown = client.get(f"/v1/sessions/{opened['session_id']}", headers=headers).json()
        assert (shown["id"], shown["channel"], shown["entity"]) == (opened["session_id"], "web", opened["entity"])


def test_a_visitor_opens_another_about_another(client: TestClient, yard: str) -> None:
    _, first = begin(client, None)
    assert first["entity"] is None
    status, second = begin(client, "task/T-2", Authorization=f"Bearer {first['visitor_token']}")
    assert (status, second["entity"]) == (201, {"handle": "task/T-2", "name": "Order the concrete"})


@pytest.mark.parametrize("about", ["task/T-3", "task/T-9", "T-1", "nothing at all", NOBODY, "task/\0"])
def test_a_record_that_the_binding_may_not_see_cannot_be_talked_about(
    client: TestClient, yard: str, about: str
) -> None:
    _, known = begin(client, None)
    for headers in ({}, {"Authorization": f"Bearer {known['visitor_token']}"}):
        status, told = begin(client, about, **headers)
        assert (status, told["error"]["code"]) == (404, "not_found")  # type: ignore[index]


@pytest.mark.parametrize("about", ["", "x" * 201, 7, ["task/T-1"]])
def test_what_cannot_name_a_record_is_refused(client: TestClient, yard: str, about: object) -> None:
    assert begin(client, about)[0] == 422


def test_somebody_elses_session_is_not_shown(client: TestClient, yard: str, visit: VisitorSession) -> None:
    _, opened = begin(client, "task/T-1")
    assert client.get(f"/v1/sessions/{opened['session_id']}", headers=visit.headers).status_code == 404


def test_a_record_that_a_viewer_may_not_see_is_not_named_to_them(client: TestClient, yard: str) -> None:
    _, opened = begin(client, "task/T-1")
    tasks = TASKS.replace("Pour the slab,", "Pour the slab, classification: restricted,")
    files = sample_pack_files("yard", "yard.example") | {"entity_types/task.yaml": TASK, "entities/task.yaml": tasks}
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers("yard")).status_code == 200
    shown = client.get(f"/v1/sessions/{opened['session_id']}", headers=create_key_headers(client, yard, "viewer"))
    assert (shown.status_code, shown.json()["error"]["code"]) == (404, "not_found")
