"""Configuring a tenant over the API, and who may."""

import re
import uuid
from typing import Any
from unittest.mock import Mock

import pytest
from fastapi.testclient import TestClient

from parlour.infra.errors import SecretUnavailable
from tests.integration.api.conftest import (
    AGENT,
    DONE_EVENT,
    EventFeed,
    FakeQueues,
    VisitorSession,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)

NOBODY = uuid.UUID(int=7)
"""An id that nothing has; the same in every test process, because it is part of tests' names."""

ADMIN_ONLY = [
    ("PUT", "/v1/pack", {"files": {"tenant.yaml": "slug: acme\ndisplay_name: Acme\n"}}),
    ("GET", "/v1/pack", None),
    ("POST", "/v1/keys", {"name": "k"}),
    ("GET", "/v1/keys", None),
    ("DELETE", f"/v1/keys/{NOBODY}", None),
    ("POST", "/v1/members", {"issuer": "https://id.example", "subject": "1", "display_name": "M"}),
    ("GET", "/v1/members", None),
    ("PUT", f"/v1/members/{NOBODY}", {"roles": [], "clearance": 1}),
    ("PUT", "/v1/tenant/status", {"status": "paused"}),
]
FOR_VIEWERS = [
    ("GET", "/v1/turns", None),
    ("GET", f"/v1/turns/{NOBODY}", None),
    ("GET", "/v1/bindings", None),
    ("GET", "/v1/secrets", None),
    ("GET", "/v1/tenant", None),
    ("GET", "/v1/audit", None),
]


@pytest.mark.parametrize(("method", "path", "body"), [*ADMIN_ONLY, *FOR_VIEWERS])
def test_without_credentials_every_door_is_shut(client: TestClient, method: str, path: str, body: object) -> None:
    assert client.request(method, path, json=body).status_code == 401


@pytest.mark.parametrize(("method", "path", "body"), [*ADMIN_ONLY, *FOR_VIEWERS])
def test_a_visitor_and_a_plain_key_open_none_of_them(
    client: TestClient, acme: str, visit: VisitorSession, method: str, path: str, body: object
) -> None:
    for headers in (visit.headers, create_key_headers(client, acme)):
        answer = client.request(method, path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


@pytest.mark.parametrize(("method", "path", "body"), ADMIN_ONLY)
def test_a_viewer_changes_nothing(client: TestClient, acme: str, method: str, path: str, body: object) -> None:
    assert (
        client.request(method, path, json=body, headers=create_key_headers(client, acme, "viewer")).status_code == 403
    )


def test_a_pack_founds_a_tenant_and_applied_again_changes_nothing(client: TestClient) -> None:
    files = {"files": sample_pack_files("acme", "acme.example")}
    first = client.put("/v1/pack", json=files, headers=operator_headers("acme")).json()
    second = client.put("/v1/pack", json=files, headers=operator_headers("acme")).json()
    assert (first["tenant"], first["changed"], second["changed"]) == ("acme", True, False)
    assert client.get("/v1/tenant", headers=operator_headers("acme")).json() == {
        "slug": "acme",
        "display_name": "Acme",
        "status": "active",
    }


def test_what_is_exported_applies_without_a_change(client: TestClient, acme: str) -> None:
    admin = create_key_headers(client, acme, "admin")
    files = client.get("/v1/pack", headers=admin).json()["files"]
    assert "bindings/desk.yaml" in files
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).json()["changed"] is False


def test_every_problem_of_a_pack_is_told_with_its_place(client: TestClient) -> None:
    files = {**sample_pack_files("acme", "acme.example"), "bindings/desk.yaml": "display_name: Desk\nhuman: nobody\n"}
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers("acme"))
    assert answer.status_code == 422
    error = answer.json()["error"]
    assert error["code"] == "invalid_pack"
    assert {problem["file"] for problem in error["problems"]} == {"bindings/desk.yaml"}
    assert all({"file", "line", "field", "message"} == set(problem) for problem in error["problems"])
    assert client.get("/v1/tenant", headers=operator_headers("acme")).status_code == 404


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:8077/weather", "http://weather.example/", "https://10.0.0.7/"])
def test_a_tool_that_would_never_be_called_is_refused_with_its_place(client: TestClient, endpoint: str) -> None:
    host = endpoint.split("/")[2]
    files = sample_pack_files("acme", "acme.example")
    files["tenant.yaml"] += f'tool_hosts: ["{host}"]\n'
    files["tools/weather.yaml"] = f"description: The weather.\nschema: {{type: object}}\nendpoint: {endpoint}\n"
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers("acme"))
    assert answer.status_code == 422, answer.text
    (problem,) = answer.json()["error"]["problems"]
    assert (problem["file"], problem["line"], problem["field"]) == ("tools/weather.yaml", 3, "endpoint")


def test_a_pack_goes_to_the_tenant_that_was_named(client: TestClient, acme: str) -> None:
    answer = client.put(
        "/v1/pack", json={"files": sample_pack_files("other", "other.example")}, headers=operator_headers(acme)
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_request")
    answer = client.put(
        "/v1/pack",
        json={"files": sample_pack_files("brick", "b.example")},
        headers=create_key_headers(client, acme, "admin"),
    )
    assert answer.status_code == 409


@pytest.mark.parametrize("files", [{}, {"": "x"}, {"a\0": "x"}, {"tenant.yaml": "a\0"}, {"tenant.yaml": 1}, None])
def test_files_that_cannot_be_kept_are_refused(client: TestClient, acme: str, files: object) -> None:
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme))
    assert answer.status_code == 422


def test_bindings_are_listed_without_what_only_their_channels_need(client: TestClient, acme: str) -> None:
    shown = client.get("/v1/bindings", headers=create_key_headers(client, acme, "viewer")).json()["bindings"]
    assert [(one["slug"], one["door"], one["channels"]) for one in shown] == [
        ("desk", "public", ["web"]),
        ("office", "private", ["web"]),
    ]


def test_a_key_works_until_it_is_revoked(client: TestClient, acme: str) -> None:
    made = client.post("/v1/keys", json={"name": "ci", "roles": ["viewer"]}, headers=operator_headers(acme)).json()
    headers = {"Authorization": f"Bearer {made['key']}"}
    assert client.get("/v1/turns", headers=headers).json()["turns"] == []
    listed = client.get("/v1/keys", headers=operator_headers(acme)).json()["keys"]
    assert [(one["name"], one["roles"], "key" in one) for one in listed] == [("ci", ["viewer"], False)]
    ended = client.delete(f"/v1/keys/{made['id']}", headers=operator_headers(acme))
    assert ended.json()["revoked_at"] is not None
    assert client.get("/v1/turns", headers=headers).status_code == 401
    assert client.delete(f"/v1/keys/{uuid.uuid4()}", headers=operator_headers(acme)).status_code == 404


@pytest.mark.parametrize(
    "body", [{}, {"name": ""}, {"name": "a\0"}, {"name": "k", "roles": ["owner"]}, {"name": "k", "clearance": 4}]
)
def test_a_key_that_makes_no_sense_is_refused(client: TestClient, acme: str, body: dict[str, object]) -> None:
    assert client.post("/v1/keys", json=body, headers=operator_headers(acme)).status_code == 422


def test_a_member_is_added_once_and_changed(client: TestClient, acme: str) -> None:
    body = {"issuer": "https://id.example", "subject": "42", "display_name": "Mina", "roles": ["viewer"]}
    added = client.post("/v1/members", json=body, headers=operator_headers(acme))
    assert added.status_code == 201
    assert client.post("/v1/members", json=body, headers=operator_headers(acme)).status_code == 409
    change = {"roles": ["admin"], "clearance": 2, "active": False}
    client.put(f"/v1/members/{added.json()['id']}", json=change, headers=operator_headers(acme))
    listed = client.get("/v1/members", headers=operator_headers(acme)).json()["members"]
    assert [(one["display_name"], one["roles"], one["clearance"], one["active"]) for one in listed] == [
        ("Mina", ["admin"], 2, False)
    ]


def test_administrative_acts_leave_a_trail(client: TestClient, acme: str) -> None:
    create_key_headers(client, acme, "viewer")
    client.put("/v1/tenant/status", json={"status": "paused"}, headers=operator_headers(acme))
    entries = client.get("/v1/audit", headers=create_key_headers(client, acme, "viewer")).json()["entries"]
    assert {"key.created", "tenant.paused", "tenant.created"} <= {entry["action"] for entry in entries}
    assert client.get("/v1/audit", params={"limit": 201}, headers=operator_headers(acme)).status_code == 422


def test_a_visitor_of_a_paused_tenant_may_still_write(client: TestClient, acme: str, visit: VisitorSession) -> None:
    client.put("/v1/tenant/status", json={"status": "paused"}, headers=operator_headers(acme))
    assert visit.send("Hello").status_code == 202
    client.put("/v1/tenant/status", json={"status": "archived"}, headers=operator_headers(acme))
    assert visit.send("Hello").status_code == 403


def test_a_viewer_sees_the_turns_of_their_own_tenant(
    client: TestClient, acme: str, brick: str, feed: EventFeed
) -> None:
    turn_id = feed.add_turn(DONE_EVENT)
    viewer = create_key_headers(client, acme, "viewer")
    turns = client.get("/v1/turns", headers=viewer).json()["turns"]
    assert [(turn["id"], turn["state"], turn["stage_ms"]) for turn in turns] == [
        (str(turn_id), "answered", {"model": 12})
    ]
    assert client.get(f"/v1/turns/{turn_id}", headers=viewer).json() == turns[0]
    assert client.get("/v1/turns", params={"session_id": str(uuid.uuid4())}, headers=viewer).json()["turns"] == []
    for path in (f"/v1/turns/{turn_id}", f"/v1/turns/{uuid.uuid4()}"):
        assert client.get(path, headers=create_key_headers(client, brick, "viewer")).status_code == 404


def test_secrets_are_listed_with_their_users_and_status(client: TestClient, acme: str, queues: FakeQueues) -> None:
    files = sample_pack_files(acme, "acme.example") | {
        "tenant.yaml": "slug: acme\ndisplay_name: Acme\ntool_hosts: [tools.example]\nsecrets:\n"
        "  gupshup: parlour/tenants/acme/gupshup\n  site: parlour/tenants/acme/site\n"
        "  spare: parlour/tenants/acme/spare\n",
        "tools/raise_rfi.yaml": "description: Raise a request for information.\nendpoint: https://tools.example/rfi\n"
        "auth: site\nschema: {type: object, properties: {}}\n",
        "agents/adviser.yaml": AGENT.replace("tools: [", "tools: [raise_rfi, "),
    }
    desk = files["bindings/desk.yaml"].removesuffix("}\n")
    number = "provider: gupshup, app: Acme, source: '447700900123', api_key: gupshup"
    files["bindings/desk.yaml"] = f"{desk}, whatsapp: {{{number}}}}}\n"
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme))
    assert answer.status_code == 200, answer.text
    queues.secret_statuses |= {"parlour/tenants/acme/site": "stored", "parlour/tenants/acme/spare": "unreadable"}
    found = client.get("/v1/secrets", headers=create_key_headers(client, acme, "viewer")).json()["secrets"]
    assert found[0]["reference"] == "parlour/test/tenants/acme/gupshup"  # where `parlour secrets set` stores it
    assert [(one["name"], one["used_by"], one["status"]) for one in found] == [
        ("gupshup", ["binding desk"], "missing"),
        ("site", ["tool raise_rfi"], "stored"),
        ("spare", [], "unreadable"),
    ]


def test_status_of_a_secret_is_unknown_while_the_store_is_away(
    client: TestClient, acme: str, queues: FakeQueues
) -> None:
    files = sample_pack_files(acme, "acme.example")
    files["tenant.yaml"] += "secrets: {gupshup: parlour/tenants/acme/gupshup}\n"
    client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme))
    queues.secret_statuses = Mock(get=Mock(side_effect=SecretUnavailable))
    (secret,) = client.get("/v1/secrets", headers=operator_headers(acme)).json()["secrets"]
    assert secret["status"] == "unknown"


SITES = {
    "entity_types/site.yaml": "display_name: Site\nproperties:\n  area: {type: number}\n",
    "entities/site.yaml": "- key: S-1\n  name: North yard\n  properties: {area: 1}\n",
}


def test_a_conflict_of_a_pack_is_told_with_both_values_and_decided_per_field(client: TestClient) -> None:
    headers, files = operator_headers("acme"), {**sample_pack_files("acme", "acme.example"), **SITES}
    assert client.put("/v1/pack", json={"files": files}, headers=headers).status_code == 200
    assert client.patch("/v1/entities/site/S-1", json={"properties": {"area": 9}}, headers=headers).status_code == 200
    files["entities/site.yaml"] = files["entities/site.yaml"].replace("area: 1", "area: 2")

    planned = client.put("/v1/pack", json={"files": files, "dry_run": True}, headers=headers).json()
    conflict = {"item": "site/S-1", "field": "properties.area", "pack_value": 2, "current_value": 9, "withheld": False}
    assert planned["conflicts"] == [{**conflict, "taken": False}]
    assert (planned["dry_run"], planned["changed"], planned["changes"]) == (True, False, [])
    decision = {"item": "site/S-1", "field": "properties.area", "choice": "take"}
    done = client.put("/v1/pack", json={"files": files, "decisions": [decision]}, headers=headers).json()
    assert done["conflicts"] == [{**conflict, "taken": True}]
    assert done["changes"] == [{"item": "site/S-1", "action": "changed", "fields": ["properties.area"]}]
    undone = client.post("/v1/pack/undo", json={}, headers=headers).json()
    assert undone["restored"] == done["changes"]
    assert client.get("/v1/entities/site/S-1", headers=headers).json()["properties"]["area"] == 9


def test_what_left_a_pack_is_listed_and_pruned(client: TestClient) -> None:
    headers, files = operator_headers("acme"), {**sample_pack_files("acme", "acme.example"), **SITES}
    client.put("/v1/pack", json={"files": files}, headers=headers)
    client.put("/v1/pack", json={"files": sample_pack_files("acme", "acme.example")}, headers=headers)
    status = client.get("/v1/pack/status", headers=headers).json()
    assert [one["applied_by"] for one in status["applies"]] == ["operator"]
    assert (status["edits"], status["deletable"]) == ([], ["site/S-1"])
    assert [one["item"] for one in status["not_deletable"]] == ["entity_type/site"]

    planned = client.post("/v1/pack/prune", json={"dry_run": True}, headers=headers).json()
    assert (planned["dry_run"], planned["deleted"]) == (True, ["site/S-1"])
    assert client.post("/v1/pack/prune", json={}, headers=headers).json()["deleted"] == ["site/S-1"]
    assert client.get("/v1/entities/site/S-1", headers=headers).status_code == 404
    for role in ("viewer", "editor"):
        key = create_key_headers(client, "acme", role)
        assert client.get("/v1/pack/status", headers=key).status_code == 403
        assert client.post("/v1/pack/prune", json={}, headers=key).status_code == 403


def test_an_undo_without_an_apply_and_by_a_viewer_is_refused(client: TestClient, acme: str) -> None:
    headers = operator_headers(acme)
    assert client.post("/v1/pack/undo", json={}, headers=headers).status_code == 200
    assert client.post("/v1/pack/undo", json={}, headers=headers).status_code == 404
    viewer = create_key_headers(client, acme, "viewer")
    assert client.post("/v1/pack/undo", json={}, headers=viewer).status_code == 403


def test_single_items_of_a_pack_are_deleted_and_stay_away(client: TestClient) -> None:
    headers, files = operator_headers("acme"), {**sample_pack_files("acme", "acme.example"), **SITES}
    client.put("/v1/pack", json={"files": files}, headers=headers)
    (document,) = client.get("/v1/documents", headers=headers).json()["documents"]

    assert client.delete(f"/v1/documents/{document['handle']}?version=7", headers=headers).status_code == 409
    assert client.delete(f"/v1/documents/{document['handle']}", headers=headers).status_code == 204
    assert client.delete("/v1/entities/site/S-1", headers=headers).status_code == 204

    again = client.put("/v1/pack", json={"files": files}, headers=headers).json()
    assert again["changed"] is False
    assert {one["item"] for one in again["edits"]} == {document["handle"], "site/S-1"}
    assert client.get("/v1/documents", headers=headers).json()["documents"] == []


def test_properties_and_arguments_keep_the_order_and_unit_of_their_file(client: TestClient, acme: str) -> None:
    headers = operator_headers(acme)
    files = sample_pack_files(acme, "acme.example")
    files["entity_types/trip.yaml"] = (
        "display_name: Trip\nproperties:\n  starting_place: {type: text}\n  to: {type: text}\n"
        "  price: {type: number, unit: GBP}\n"
    )
    files["entities/trip.yaml"] = (
        "- {key: T-1, name: Tour, properties: {to: Pune, price: 46000, starting_place: Goa}}\n"
    )
    files["tenant.yaml"] += "tool_hosts: [rooms.example]\n"
    files["tools/book.yaml"] = (
        "description: Books.\nendpoint: https://rooms.example/book\nschema:\n  type: object\n  properties:\n"
        "    starting_place: {type: string}\n    to: {type: string}\n"
    )

    def apply() -> dict[str, Any]:
        answer = client.put("/v1/pack", json={"files": files}, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()["counts"]["entity_type"]  # type: ignore[no-any-return]

    apply()
    shown = client.get("/v1/entities/trip/T-1", headers=headers).json()
    assert [*shown["properties"].items()] == [("starting_place", "Goa"), ("to", "Pune"), ("price", 46000)]
    assert shown["units"] == {"price": "GBP"}
    (trip,) = [
        kind for kind in client.get("/v1/entity-types", headers=headers).json()["types"] if kind["key"] == "trip"
    ]
    assert [*trip["properties"]] == ["starting_place", "to", "price"]
    exported = client.get("/v1/pack", headers=headers).json()["files"]
    assert re.findall(r"^  (\w+):", exported["entity_types/trip.yaml"], re.MULTILINE) == [*trip["properties"]]
    assert "order" not in exported["entity_types/trip.yaml"] + exported["tools/book.yaml"]
    assert exported["tools/book.yaml"].index("starting_place") < exported["tools/book.yaml"].index("to:")
    assert apply()["changed"] == 0
    files["entity_types/trip.yaml"] = (
        "display_name: Trip\nproperties:\n  price: {type: number, unit: GBP}\n  to: {type: text}\n"
        "  starting_place: {type: text}\n"
    )
    assert apply()["changed"] == 1
    shown = client.get("/v1/entities/trip/T-1", headers=headers).json()
    assert [*shown["properties"]] == ["price", "to", "starting_place"]
