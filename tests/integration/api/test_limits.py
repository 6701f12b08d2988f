"""Too many requests get a 429 with a time to come back, and what was accepted is kept."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.tenancy import limits, tenants
from parlour.tenancy.users import MAX_UNUSED_SESSIONS
from tests.integration.api.conftest import (
    ManualClock,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)


def set_limits(database: Database, slug: str, **limits: int) -> None:
    tenant = tenants.find_tenant_by_slug(database, slug)
    assert tenant is not None
    with database.transaction(tenant.tenant_id) as tx:
        tx.run(Query("test.limits", "-", "UPDATE bindings SET limits = %(limits)s::jsonb"), limits=json.dumps(limits))


@pytest.fixture
def limited(database: Database, acme: str) -> str:
    """acme, whose desk takes two messages and three new visitors a minute."""
    set_limits(database, acme, visitor_per_minute=2, new_visitors_per_minute=3)
    return acme


type ClientAt = Callable[[str], TestClient]


@pytest.fixture
def client_at(client: TestClient) -> ClientAt:
    """A client of the same API at a network address."""
    return lambda address: TestClient(client.app, client=(address, 50_000))


def count_new_visitors(client: TestClient, tenant: str, count: int, **headers: str) -> int:
    """How many of so many new visitors are let in."""
    wanted = {"tenant": tenant, "binding": "desk"}
    return [client.post("/v1/sessions", json=wanted, headers=headers).status_code for _ in range(count)].count(201)


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


def test_one_visitor_leaves_the_binding_to_others(
    database: Database, client_at: ClientAt, acme: str, brick: str
) -> None:
    set_limits(database, acme, visitor_per_minute=5, binding_per_minute=20)
    flood = open_session(client_at("192.0.2.1"), acme)
    assert [flood.send("Hello").status_code for _ in range(60)].count(202) == 5
    assert open_session(client_at("198.51.100.7"), acme).send("Hello").status_code == 202
    assert open_session(client_at("192.0.2.1"), brick).send("Hello").status_code == 202


def test_many_visitors_of_one_address_leave_the_binding_to_others(
    database: Database, client_at: ClientAt, acme: str
) -> None:
    visitors = [open_session(client_at("192.0.2.1"), acme) for _ in range(6)]
    set_limits(database, acme, visitor_per_minute=5, address_per_minute=12, binding_per_minute=20)
    statuses = [visit.send("Hello").status_code for _ in range(5) for visit in visitors]
    assert statuses.count(202) == 12
    assert open_session(client_at("198.51.100.7"), acme).send("Hello").status_code == 202


def test_an_address_that_brings_many_visitors_keeps_nobody_else_out(client_at: ClientAt, acme: str) -> None:
    assert count_new_visitors(client_at("192.0.2.1"), acme, 150) == 10
    assert count_new_visitors(client_at("198.51.100.7"), acme, 1) == 1


def test_addresses_of_one_ipv6_network_are_one(client_at: ClientAt, acme: str) -> None:
    assert sum(count_new_visitors(client_at(f"2001:db8:1:2::{n:x}"), acme, 1) for n in range(1, 40)) == 10
    assert count_new_visitors(client_at("2001:db8:1:3::1"), acme, 1) == 1


def test_a_forged_header_is_no_address(client_at: ClientAt, acme: str) -> None:
    client = client_at("192.0.2.1")
    names = ("X-Forwarded-For", "Forwarded", "X-Real-IP", "CF-Connecting-IP")
    found = sum(count_new_visitors(client, acme, 1, **{name: f"198.51.100.{n}"}) for n in range(10) for name in names)
    assert found == 10


def test_visitors_who_come_at_once_are_counted_one_by_one(client_at: ClientAt, acme: str) -> None:
    clients = [client_at("192.0.2.1") for _ in range(50)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda client: count_new_visitors(client, acme, 1), clients))
    assert sum(found) == 10


def test_a_full_office_has_room_again_after_a_minute(client_at: ClientAt, clock: ManualClock, acme: str) -> None:
    office = client_at("192.0.2.1")
    assert count_new_visitors(office, acme, 15) == 10
    clock.now += timedelta(minutes=1)
    assert count_new_visitors(office, acme, 10) == 10


def test_messages_at_once_are_counted_one_by_one(database: Database, client_at: ClientAt, acme: str) -> None:
    set_limits(database, acme, visitor_per_minute=5, binding_per_minute=20)
    visit = open_session(client_at("192.0.2.1"), acme)
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(lambda _: visit.send("Hello").status_code, range(50)))
    assert statuses.count(202) == 5
    assert open_session(client_at("198.51.100.7"), acme).send("Hello").status_code == 202


def open_further(visit: VisitorSession, tenant: str) -> int:
    wanted = {"tenant": tenant, "binding": "desk"}
    known = {"Authorization": f"Bearer {visit.visitor_token}"}
    return int(visit.client.post("/v1/sessions", json=wanted, headers=known).status_code)


def list_sessions(database: Database, tenant: str) -> set[str]:
    found = tenants.find_tenant_by_slug(database, tenant)
    assert found is not None
    query = Query("test.sessions", "-", "SELECT jsonb_agg(id) FROM sessions")
    with database.transaction(found.tenant_id) as tx:
        return {*tx.value(query)}


def test_a_known_visitor_opens_so_many_sessions_a_minute(client: TestClient, acme: str, visit: VisitorSession) -> None:
    statuses = [open_further(visit, acme) for _ in range(40)]
    assert statuses == [201] * 30 + [429] * 10
    assert open_further(open_session(client, acme), acme) == 201


def test_of_sessions_without_a_message_the_oldest_go(
    database: Database, clock: ManualClock, acme: str, visit: VisitorSession
) -> None:
    assert visit.send("Hello").status_code == 202
    for _ in range(45):
        clock.advance(seconds=3)
        assert open_further(visit, acme) == 201
    sessions = list_sessions(database, acme)
    assert len(sessions) == MAX_UNUSED_SESSIONS + 1
    assert visit.session_id in sessions
    assert visit.get("/messages").json()["messages"][0]["text"] == "Hello"


def test_sessions_at_once_are_counted_one_by_one(database: Database, acme: str, visit: VisitorSession) -> None:
    with ThreadPoolExecutor(8) as threads:
        statuses = list(threads.map(lambda _: open_further(visit, acme), range(50)))
    assert statuses.count(201) == 30
    assert len(list_sessions(database, acme)) <= MAX_UNUSED_SESSIONS


def test_a_session_that_files_were_sent_for_stays(database: Database, acme: str, visit: VisitorSession) -> None:
    announced = {"name": "plan.pdf", "size_bytes": 9}
    path = f"/v1/sessions/{visit.session_id}/attachments"
    assert visit.client.post(path, json=announced, headers=visit.headers).status_code == 201
    for _ in range(25):
        assert open_further(visit, acme) == 201
    assert visit.session_id in list_sessions(database, acme)


def test_reads_have_a_limit_that_says_when_to_come_back(
    client: TestClient, acme: str, visit: VisitorSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_REQUESTS_PER_MINUTE", 40)
    paths = ("/events", "/messages", "", "/events?after=0")
    statuses = [visit.get(paths[number % 4]).status_code for number in range(50)]
    assert statuses == [200] * 40 + [429] * 10
    assert int(visit.get("/events").headers["retry-after"]) > 0
    assert open_session(client, acme).get("/events").status_code == 200
