"""Too many requests get a 429 with a time to come back, and what was accepted is kept."""

import json
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.tenancy import tenants
from tests.integration.api.conftest import VisitorSession, create_key_headers, open_session, operator_headers


@pytest.fixture
def limited(database: Database, acme: str) -> str:
    """acme, whose desk takes two messages and three new visitors a minute."""
    tenant = tenants.find_tenant_by_slug(database, acme)
    assert tenant is not None
    limits = json.dumps({"visitor_per_minute": 2, "new_visitors_per_minute": 3})
    with database.transaction(tenant.tenant_id) as tx:
        tx.run(Query("test.limits", "-", "UPDATE bindings SET limits = %(limits)s::jsonb"), limits=limits)
    return acme


def test_a_visitor_who_writes_too_much_is_told_when_to_come_back(client: TestClient, limited: str) -> None:
    visit = open_session(client, limited)
    assert [visit.send("Hello").status_code for _ in range(2)] == [202, 202]
    refused = visit.send("Hello")
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
    assert int(refused.headers["retry-after"]) > 0
    assert len(visit.get("/messages").json()["messages"]) == 2
    assert open_session(client, limited).send("Hello").status_code == 202


def test_too_many_new_visitors_are_refused_and_known_ones_are_not(client: TestClient, limited: str) -> None:
    first = open_session(client, limited)
    wanted = {"tenant": limited, "binding": "desk"}
    statuses = [client.post("/v1/sessions", json=wanted).status_code for _ in range(3)]
    assert statuses == [201, 201, 429]
    known = {"Authorization": f"Bearer {first.visitor_token}"}
    assert client.post("/v1/sessions", json=wanted, headers=known).status_code == 201


def test_a_visitor_who_opens_too_many_streams_is_told_when_to_come_back(client: TestClient, limited: str) -> None:
    visit = open_session(client, limited)
    ask = {"params": {"after": 9}}  # refused, so that the stream does not stay open
    statuses = [visit.get("/stream", **ask).status_code for _ in range(13)]
    assert statuses == [422] * 12 + [429]
    assert int(visit.get("/stream", **ask).headers["retry-after"]) > 0
    assert visit.send("Hello").status_code == 202
    assert open_session(client, limited).get("/stream", **ask).status_code == 422


def test_viewers_see_the_limits(client: TestClient, limited: str) -> None:
    visit = open_session(client, limited)
    for _ in range(3):
        visit.send("Hello")
    shown = client.get("/v1/limits", headers=create_key_headers(client, limited, "viewer")).json()["limits"]
    assert (shown[0]["scope"], shown[0]["refused_count"]) == ("visitor", 1)
    assert UUID(shown[0]["key"])
    assert {one["scope"] for one in shown} == {"visitor", "binding", "address", "new_visitors"}
    assert client.get("/v1/limits", headers=visit.headers).status_code == 403
    assert client.get("/v1/limits", headers=operator_headers(limited)).status_code == 200


@pytest.mark.parametrize("answer", ["", "wrong"])
def test_a_new_visitor_solves_the_challenge_first(
    client: TestClient, acme: str, visit: VisitorSession, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = client.app.state.services  # type: ignore[attr-defined]
    object.__setattr__(services, "check_challenge", lambda given, address: given == "right" and bool(address))
    wanted = {"tenant": acme, "binding": "desk"}
    assert client.post("/v1/sessions", json={**wanted, "challenge": answer}).status_code == 403
    assert client.post("/v1/sessions", json={**wanted, "challenge": "right"}).status_code == 201
    known = {"Authorization": f"Bearer {visit.visitor_token}"}
    assert client.post("/v1/sessions", json=wanted, headers=known).status_code == 201
