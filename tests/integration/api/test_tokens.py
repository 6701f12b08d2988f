"""Tokens end: by signing out everywhere, with their key's time, and they open only what they are for."""

from datetime import timedelta

import pytest
from fastapi.testclient import TestClient

from tests.integration.api.conftest import ManualClock, VisitorSession, open_session, operator_headers


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
