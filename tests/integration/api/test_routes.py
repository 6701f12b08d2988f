"""Hosts and numbers over the API: an administrator's pack claims them, the operator accepts them."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient
from httpx2 import Response

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.infra.postgres import Database
from parlour.tenancy.routing_keys import RoutePolicy
from tests.integration.api.conftest import (
    FakeQueues,
    ManualClock,
    RecordingQueue,
    create_key_headers,
    make_dependencies,
    operator_headers,
    sample_pack_files,
)


@pytest.fixture
def client(
    open_database: Callable[[], Database], clock: ManualClock, queue: RecordingQueue, queues: FakeQueues
) -> Iterator[TestClient]:
    """The API of a deployment whose console is at console.example.com."""
    connections = DatabasePool(open_database)
    services = make_dependencies(connections, clock, queue, queues)
    policy = RoutePolicy("https://console.example.com")
    yield TestClient(create_app(replace(services, route_policy=policy)), follow_redirects=False)
    connections.close()


def apply_host(client: TestClient, tenant: str, host: str, headers: dict[str, str]) -> Response:
    """Apply the tenant's pack with another host for its desk."""
    files = sample_pack_files(tenant, host)
    files = {path: text.replace(f"office.{host}", f"office.{tenant}.example") for path, text in files.items()}
    return client.put("/v1/pack", json={"files": files}, headers=headers)


def location(client: TestClient, host: str) -> str:
    return str(client.get("/", headers={"Host": host}).headers["location"])


def test_a_host_of_an_administrators_pack_waits_for_the_operator(client: TestClient, acme: str, brick: str) -> None:
    admin = create_key_headers(client, brick, "admin")
    applied = apply_host(client, brick, "new.example", admin)
    assert applied.status_code == 200
    assert applied.json()["waiting_routes"] == ["web:new.example"]
    assert location(client, "new.example") == "console/"
    opened = client.post("/v1/sessions", json={"host": "new.example"})
    assert opened.status_code == 404
    (item,) = client.get("/v1/attention", headers=admin).json()["items"]
    assert (item["kind"], item["key"]) == ("waiting_route", "web:new.example")
    assert "parlour routes accept web:new.example" in item["what_to_do"]
    health = client.get("/v1/operations/health", headers=operator_headers(acme)).json()["checks"]
    (check,) = [check for check in health if check["name"] == "hosts and numbers"]
    assert (check["status"], check["found"]) == ("warning", "waiting to be accepted: web:new.example (brick)")
    body = {"key": "web:new.example"}
    assert client.post("/v1/routes/accept", json=body, headers=admin).status_code == 403
    assert client.post("/v1/routes/accept", json=body, headers=operator_headers(acme)).status_code == 404
    accepted = client.post("/v1/routes/accept", json=body, headers=operator_headers(brick)).json()
    assert accepted == {"key": "web:new.example", "binding": "desk", "state": "active"}
    assert location(client, "new.example") == "console/chat.html"
    assert client.get("/v1/attention", headers=admin).json()["items"] == []
    assert apply_host(client, brick, "new.example", admin).json()["waiting_routes"] == []
    routes = client.get("/v1/routes", headers=admin).json()["routes"]
    assert accepted in routes
    assert {route["state"] for route in routes} == {"active"}


def test_a_claim_that_leaves_the_pack_waits_no_longer(client: TestClient, acme: str, brick: str) -> None:
    admin = create_key_headers(client, brick, "admin")
    apply_host(client, brick, "new.example", admin)
    assert apply_host(client, brick, "brick.example", admin).json()["waiting_routes"] == []
    assert location(client, "brick.example") == "console/chat.html"  # reserved: it comes back at once


def test_a_host_that_was_given_up_for_one_apply_is_not_taken(client: TestClient, acme: str, brick: str) -> None:
    files = {path: text for path, text in sample_pack_files(acme, "acme.example").items() if "desk.yaml" not in path}
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).status_code == 200
    for headers in (create_key_headers(client, brick, "admin"), operator_headers(brick)):
        assert apply_host(client, brick, "acme.example", headers).json()["waiting_routes"] == ["web:acme.example"]
    assert location(client, "acme.example") == "console/"
    assert apply_host(client, acme, "acme.example", create_key_headers(client, acme, "admin")).status_code == 200
    assert location(client, "acme.example") == "console/chat.html"


@pytest.mark.parametrize("host", ["console.example.com", "a1b2.execute-api.eu-west-1.amazonaws.com"])
def test_the_consoles_own_host_is_refused(client: TestClient, acme: str, host: str) -> None:
    refused = apply_host(client, acme, host, operator_headers(acme))
    assert refused.status_code == 422
    assert f"{host} is an address of this deployment itself" in refused.json()["error"]["message"]
    assert location(client, host) == "console/"
    assert location(client, "acme.example") == "console/chat.html"


def test_the_only_tenant_of_a_deployment_waits_for_nobody(client: TestClient, acme: str) -> None:
    admin = create_key_headers(client, acme, "admin")
    assert apply_host(client, acme, "new.example", admin).json()["waiting_routes"] == []
    assert location(client, "new.example") == "console/chat.html"
