"""Documents over the API: written in a project's tree, moved, revised, read and taken away."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import FakeQueues, operator_headers, sample_pack_files

PROJECT = "- {key: NRS, name: Station}\n"


@pytest.fixture
def yard(client: TestClient) -> dict[str, str]:
    """The headers of an editor of a tenant with a project."""
    files = sample_pack_files("yard", "yard.example") | {
        "entity_types/project.yaml": "display_name: Project\n",
        "entities/project.yaml": PROJECT,
    }
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers("yard"))
    assert answer.status_code == 200, answer.text
    return key(client, 2, "editor")


def key(client: TestClient, clearance: int, *roles: str) -> dict[str, str]:
    """The headers of a new API key."""
    body = {"name": "test", "roles": roles, "clearance": clearance}
    answer = client.post("/v1/keys", json=body, headers=operator_headers("yard"))
    assert answer.status_code == 201, answer.text
    return {"Authorization": f"Bearer {answer.json()['key']}", "Parlour-Tenant": "yard"}


def write(client: TestClient, headers: dict[str, str], title: str, **more: object) -> Any:
    body = {"title": title, "project": "project/NRS", **more}
    return client.post("/v1/documents", json=body, headers=headers)


def tree(client: TestClient, headers: dict[str, str]) -> list[tuple[str, int | None]]:
    answer = client.get("/v1/projects/project/NRS/documents", headers=headers)
    assert answer.status_code == 200, answer.text
    return [(one["title"], one["depth"]) for one in answer.json()["documents"]]


def test_a_document_is_written_read_revised_and_taken_away(
    client: TestClient, yard: dict[str, str], queues: FakeQueues
) -> None:
    before = len(queues.embedding.sent)
    made = write(client, yard, "Method", content="# Bays\n\nTwo.", description="How")
    assert made.status_code == 201, made.text
    handle = made.json()["handle"]
    assert (made.json()["project"], made.json()["length"], made.json()["version"]) == ("project/NRS", 12, 1)
    assert len(queues.embedding.sent) == before + 1
    path = f"/v1/documents/{made.json()['key']}"
    assert client.get(path, headers=yard).json()["content"] == "# Bays\n\nTwo."
    revised = client.patch(path, json={"content": "# Bays\n\nThree.", "version": 1}, headers=yard)
    assert revised.json()["version"] == 2
    stale = client.patch(path, json={"title": "X", "version": 1}, headers=yard)
    assert (stale.status_code, stale.json()["error"]["code"]) == (409, "conflict")
    assert client.get(f"/v1/documents/{handle}", headers=yard).json()["content"] == "# Bays\n\nThree."
    before = len(queues.embedding.sent)
    assert client.delete(f"{path}?version=2", headers=yard).status_code == 204
    assert len(queues.embedding.sent) == before + 1
    assert client.get(path, headers=yard).status_code == 404


def test_documents_are_placed_and_moved_in_the_tree(client: TestClient, yard: dict[str, str]) -> None:
    first = write(client, yard, "First").json()["handle"]
    write(client, yard, "Under", parent=first)
    second = write(client, yard, "Second", position=0).json()["handle"]
    assert tree(client, yard) == [("Second", 0), ("First", 0), ("Under", 1)]
    moved = client.put(f"/v1/documents/{first}/place", json={"parent": second}, headers=yard)
    assert [(one["title"], one["parent"]) for one in moved.json()["documents"]] == [
        ("Second", None),
        ("First", second),
        ("Under", first),
    ]
    circle = client.put(f"/v1/documents/{second}/place", json={"parent": first}, headers=yard)
    assert circle.status_code == 422
    assert "under itself" in circle.json()["error"]["message"]


def test_all_documents_are_listed_with_their_origin_and_found_by_text(client: TestClient, yard: dict[str, str]) -> None:
    made = write(client, yard, title="Bays", project="project/NRS").json()
    listed = client.get("/v1/documents", headers=yard).json()["documents"]
    told = {one["handle"]: (one["origin"], one["project"], one["left_pack_at"]) for one in listed}
    assert told == {
        made["handle"]: ("people", "project/NRS", None),
        "document/plan.md": ("pack", None, None),
    }
    for text, handles in {"PLAN": ["document/plan.md"], "bay": [made["handle"]], "%": []}.items():
        found = client.get("/v1/documents", params={"text": text}, headers=yard).json()["documents"]
        assert [one["handle"] for one in found] == handles, text


def test_a_document_that_left_the_pack_is_deleted_and_comes_back_with_it(
    client: TestClient, yard: dict[str, str]
) -> None:
    pack = client.get("/v1/pack", headers=operator_headers("yard")).json()["files"]
    less = {name: text for name, text in pack.items() if not name.endswith("plan.md")}
    applied = client.put("/v1/pack", json={"files": less}, headers=operator_headers("yard")).json()
    assert applied["not_in_pack"] == ["document/plan.md"]
    (left,) = client.get("/v1/documents", headers=yard).json()["documents"]
    assert left["left_pack_at"]
    assert client.put("/v1/pack", json={"files": pack}, headers=operator_headers("yard")).status_code == 200
    client.put("/v1/pack", json={"files": less}, headers=operator_headers("yard"))
    cards = client.get("/v1/search", params={"q": "pour"}, headers=yard).json()["cards"]
    assert "document/plan.md" in [card["document"] for card in cards]
    viewer = key(client, 2, "viewer")
    assert client.delete("/v1/documents/plan.md", headers=viewer).status_code == 403
    assert client.delete("/v1/documents/plan.md", headers=yard).status_code == 204
    assert client.delete("/v1/documents/plan.md", headers=yard).status_code == 404
    assert client.get("/v1/documents", headers=yard).json()["documents"] == []
    cards = client.get("/v1/search", params={"q": "pour"}, headers=yard).json()["cards"]
    assert "document/plan.md" not in [card["document"] for card in cards]
    entries = client.get("/v1/audit", headers=viewer).json()["entries"]
    assert "document.deleted" in [entry["action"] for entry in entries]
    again = client.put("/v1/pack", json={"files": pack}, headers=operator_headers("yard")).json()
    assert again["not_in_pack"] == []
    assert client.get("/v1/documents/plan.md", headers=yard).status_code == 200


def test_a_packs_document_is_read_and_listed_and_changed_in_the_pack(client: TestClient, yard: dict[str, str]) -> None:
    listed = client.get("/v1/documents", headers=yard).json()
    assert [one["handle"] for one in listed["documents"]] == ["document/plan.md"]
    assert client.get("/v1/documents/plan.md", headers=yard).json()["content"].startswith("The pour")
    refused = client.patch("/v1/documents/plan.md", json={"title": "X"}, headers=yard)
    assert "pack" in refused.json()["error"]["message"]


def test_who_reads_and_who_writes(client: TestClient, yard: dict[str, str]) -> None:
    viewer, nobody = key(client, 1, "viewer"), key(client, 1)
    secret = write(client, yard, "Margin", content="nine per cent", classification=2).json()
    assert write(client, viewer, "Mine").status_code == 403
    assert tree(client, viewer) == []
    assert client.get(f"/v1/documents/{secret['key']}", headers=viewer).status_code == 404
    assert client.get("/v1/documents", headers=nobody).status_code == 403
    assert client.get("/v1/projects/project/NRS/documents", headers=nobody).status_code == 403
    assert write(client, yard, "Above", classification=3).status_code == 403


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"title": ""}, 422),
        ({"title": "x", "colour": "red"}, 422),
        ({"title": "x\u0000"}, 422),
        ({"title": "x", "parent": "document/none"}, 404),
        ({"title": "x", "project": "project/none"}, 404),
        ({"title": "x", "key": "not a key!"}, 422),
        ({"title": "x", "state": "someday"}, 422),
        ({"title": "x", "position": -1}, 422),
    ],
)
def test_what_cannot_be_is_refused(
    client: TestClient, yard: dict[str, str], body: dict[str, object], status: int
) -> None:
    answer = write(client, yard, **body)  # type: ignore[arg-type]
    assert answer.status_code == status, answer.text


def test_a_project_made_over_the_api_comes_with_its_context_document(client: TestClient, yard: dict[str, str]) -> None:
    made = client.post(
        "/v1/entities",
        json={"type": "project", "name": "Bridge", "key": "BR", "context_text": "A bridge by May."},
        headers=yard,
    )
    assert made.status_code == 201, made.text
    (context,) = client.get("/v1/projects/project/BR/documents", headers=yard).json()["documents"]
    assert context["is_context"]
    assert client.get(f"/v1/documents/{context['key']}", headers=yard).json()["content"] == "A bridge by May."


def test_a_record_of_the_kind_document_has_a_text_to_be_written(client: TestClient, yard: dict[str, str]) -> None:
    body = {"type": "document", "name": "Notes", "project": "project/NRS", "properties": {"description": "Of Monday"}}
    made = client.post("/v1/entities", json=body, headers=yard)
    assert made.status_code == 201, made.text
    assert tree(client, yard) == [("Notes", 0)]
    path = f"/v1/documents/{made.json()['key']}"
    revised = client.patch(path, json={"content": "It rained."}, headers=yard).json()
    assert (revised["length"], revised["description"]) == (10, "Of Monday")
    renamed = client.patch(f"/v1/entities/document/{made.json()['key']}", json={"name": "Days"}, headers=yard)
    assert (renamed.status_code, tree(client, yard)) == (200, [("Days", 0)])
    left = client.patch(f"/v1/entities/document/{made.json()['key']}", json={"project": None}, headers=yard)
    assert (left.status_code, tree(client, yard)) == (200, [])
    assert client.delete(f"/v1/entities/document/{made.json()['key']}", headers=yard).status_code == 204
