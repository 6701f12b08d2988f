"""Tokens end: by signing out everywhere, with their key's time, and they open only what they are for."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import (
    ManualClock,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_signing_out_everywhere_ends_every_token_of_the_visitor(
    client: TestClient, visit: VisitorSession, acme: str
) -> None:
    other = open_session(client, acme, **bearer(visit.visitor_token))
    assert client.post("/v1/me/sign-out", headers=visit.headers).status_code == 403
    assert client.post("/v1/me/sign-out", headers=bearer(visit.visitor_token)).status_code == 204
    for one in (visit, other):
        assert one.get("/messages").status_code == 401
        assert one.send("Hello").status_code == 401
    assert client.post("/v1/sessions", json={"tenant": acme, "binding": "desk"}).status_code == 201


def test_an_administrator_signs_a_user_out(client: TestClient, visit: VisitorSession, acme: str) -> None:
    visit.send("Hello")
    (user,) = client.get("/v1/users", headers=operator_headers(acme)).json()["users"]
    assert client.post(f"/v1/users/{user['id']}/sign-out", headers=visit.headers).status_code == 403
    assert client.post(f"/v1/users/{user['id']}/sign-out", headers=operator_headers(acme)).status_code == 204
    assert visit.get("/messages").status_code == 401
    nobody = "00000000-0000-0000-0000-000000000007"
    assert client.post(f"/v1/users/{nobody}/sign-out", headers=operator_headers(acme)).status_code == 404


def test_a_users_clearance_is_set_by_administrators(client: TestClient, visit: VisitorSession, acme: str) -> None:
    visit.send("Hello")
    (user,) = client.get("/v1/users", headers=operator_headers(acme)).json()["users"]
    path = f"/v1/users/{user['id']}/clearance"
    assert client.put(path, json={"clearance": 1}, headers=visit.headers).status_code == 403
    assert client.put(path, json={"clearance": 7}, headers=operator_headers(acme)).status_code == 422
    for level in (1, None):
        assert client.put(path, json={"clearance": level}, headers=operator_headers(acme)).status_code == 204
        shown = client.get(f"/v1/users/{user['id']}/memory", headers=operator_headers(acme)).json()["user"]
        assert shown["clearance"] == level


def test_a_key_ends_at_its_time_and_says_when_it_was_used(client: TestClient, acme: str, clock: ManualClock) -> None:
    expires = (clock.now + timedelta(days=1)).isoformat()
    wanted = {"name": "import", "roles": ["viewer"], "expires_at": expires}
    made = client.post("/v1/keys", json=wanted, headers=operator_headers(acme)).json()
    assert (made["last_used_at"], made["scopes"]) == (None, [])
    assert client.get("/v1/me", headers=bearer(made["key"])).status_code == 200
    (shown,) = client.get("/v1/keys", headers=operator_headers(acme)).json()["keys"]
    assert shown["last_used_at"] is not None
    clock.advance(days=1)
    assert client.get("/v1/me", headers=bearer(made["key"])).status_code == 401


def test_a_key_opens_the_parts_that_it_is_for(client: TestClient, acme: str) -> None:
    wanted = {"name": "import", "roles": ["editor"], "scopes": ["entities"]}
    made = client.post("/v1/keys", json=wanted, headers=operator_headers(acme)).json()
    assert client.get("/v1/entities", headers=bearer(made["key"])).status_code == 200
    for path in ("/v1/files", "/v1/turns", "/v1/users", "/v1/keys"):
        refused = client.get(path, headers=bearer(made["key"]))
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden"), path


@pytest.mark.parametrize(
    "wrong", [{"scopes": ["everything"]}, {"expires_at": "2020-01-01T00:00:00Z"}, {"expires_at": "2030-01-01T00:00:00"}]
)
def test_a_key_that_cannot_be_is_refused(client: TestClient, acme: str, wrong: dict[str, object]) -> None:
    answer = client.post("/v1/keys", json={"name": "k", **wrong}, headers=operator_headers(acme))
    assert answer.status_code == 422
    assert next(iter(wrong)) in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "wanted",
    [
        {"name": "stronger", "roles": ["admin"], "clearance": 1},
        {"name": "equal", "roles": ["admin"], "scopes": ["people"], "expires_at": "{end}"},
        {"name": "weaker", "roles": [], "clearance": 0, "scopes": ["people"]},
    ],
)
def test_a_key_makes_no_key(client: TestClient, acme: str, clock: ManualClock, wanted: dict[str, object]) -> None:
    end = (clock.now + timedelta(minutes=5)).isoformat()
    narrow = {"name": "narrow", "roles": ["admin"], "scopes": ["people"], "expires_at": end}
    made = client.post("/v1/keys", json=narrow, headers=operator_headers(acme)).json()
    body = {name: end if value == "{end}" else value for name, value in wanted.items()}
    refused = client.post("/v1/keys", json=body, headers=bearer(made["key"]))
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "forbidden")
    assert "sign in as an administrator" in refused.json()["error"]["message"]
    assert [key["name"] for key in client.get("/v1/keys", headers=bearer(made["key"])).json()["keys"]] == ["narrow"]
    assert client.post("/v1/keys", json=body, headers=operator_headers(acme)).status_code == 201


def test_a_key_lets_nobody_in_and_raises_nobody(client: TestClient, visit: VisitorSession, acme: str) -> None:
    visit.send("Hello")
    (user,) = client.get("/v1/users", headers=operator_headers(acme)).json()["users"]
    admin = create_key_headers(client, acme, "admin")
    person = {"issuer": "https://i.example", "subject": "1", "display_name": "Ida", "roles": []}
    member = client.post("/v1/members", json=person, headers=operator_headers(acme)).json()
    change = {"roles": ["admin"], "clearance": 1, "active": True}
    refused = [
        client.post("/v1/members", json={**person, "subject": "2", "roles": ["admin"]}, headers=admin),
        client.put(f"/v1/members/{member['id']}", json=change, headers=admin),
        client.put(f"/v1/users/{user['id']}/clearance", json={"clearance": 1}, headers=admin),
    ]
    assert [answer.status_code for answer in refused] == [403] * len(refused)
    (shown,) = client.get("/v1/members", headers=admin).json()["members"]
    assert (shown["subject"], shown["roles"]) == ("1", [])


def test_a_key_may_still_end_keys(client: TestClient, acme: str) -> None:
    admin = create_key_headers(client, acme, "admin")
    leaked = client.post("/v1/keys", json={"name": "leaked"}, headers=operator_headers(acme)).json()
    assert client.delete(f"/v1/keys/{leaked['id']}", headers=admin).status_code == 200
    assert client.get("/v1/me", headers=bearer(leaked["key"])).status_code == 401
