"""The console's page, what it is told before it begins, and that it may run nothing but its own files."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from parlour.api import middleware
from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from parlour.infra.postgres import Database
from parlour.tenancy.oidc import parse_sign_ins
from tests.integration.api.conftest import (
    FakeQueues,
    ManualClock,
    RecordingQueue,
    create_key_headers,
    make_dependencies,
    open_session,
    operator_headers,
    sample_pack_files,
)


@pytest.fixture
def database_pool(open_database: Callable[[], Database]) -> Iterator[DatabasePool]:
    connections = DatabasePool(open_database)
    yield connections
    connections.close()


def read_linked_files(page: str) -> list[str]:
    """Return the addresses of the scripts and styles of a page, relative to it."""
    return re.findall(r'(?:src|href)="\./(assets/[^"]+\.(?:js|css))"', page)


@pytest.mark.parametrize("page", ["", "index.html", "chat.html"])
def test_page_and_its_files_are_served_under_a_strict_policy(client: TestClient, page: str) -> None:
    answer = client.get(f"/console/{page}")
    assert "text/html" in answer.headers["content-type"]
    linked = read_linked_files(answer.text)
    assert {path.rpartition(".")[2] for path in linked} == {"js", "css"}
    for path in linked:
        file = client.get(f"/console/{path}")
        assert file.status_code == 200
        assert {"js": "javascript", "css": "text/css"}[path.rpartition(".")[2]] in file.headers["content-type"]
        check_policy(file)
    check_policy(answer)


def check_policy(answer: Response) -> None:
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["strict-transport-security"] == "max-age=31536000"


def test_the_page_may_send_files_to_the_bucket_and_to_nobody_else(client: TestClient) -> None:
    policy = client.get("/console/").headers["content-security-policy"]
    assert "connect-src 'self' https://files.example.org;" in policy
    assert "files.example.org" not in client.get("/v1/health").headers["content-security-policy"]


def test_a_page_that_is_there_already_is_not_sent_again(client: TestClient) -> None:
    first = client.get("/console/")
    assert first.headers["cache-control"] == "no-cache"
    assert client.get("/console/", headers={"If-None-Match": first.headers["etag"]}).status_code == 304


@pytest.mark.parametrize("path", ["/", "/console"])
def test_the_way_to_the_console_is_relative(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.headers["location"]) == (307, "console/")


def test_root_at_an_agents_host_leads_to_its_chat(client: TestClient, brick: str) -> None:
    answer = client.get("/", headers={"Host": "brick.example"})
    assert (answer.status_code, answer.headers["location"]) == (307, "console/chat.html")


def test_the_host_says_whom_one_can_talk_to(client: TestClient, acme: str, brick: str) -> None:
    told = client.get("/console/settings.json", headers={"Host": "brick.example"}).json()
    assert told.pop("attachments")
    assert told == {
        "environment": "test",
        "local": False,
        "model": None,
        "demo_tenants": [],
        "stream": True,
        "sign_in": [],
        "bindings": [
            {
                "tenant": "brick",
                "slug": "desk",
                "name": "Site desk",
                "greeting": "Good morning",
                "channels": ["web"],
                "samples": ["What is due?"],
                "face": "",
                "colour": "",
            }
        ],
        "is_agent_host": True,
    }


def test_at_an_unknown_host_nobody_is_listed(client: TestClient, acme: str) -> None:
    assert client.get("/console/settings.json").json()["bindings"] == []


def test_a_tenant_that_is_closed_is_not_listed(client: TestClient, acme: str) -> None:
    client.put("/v1/tenant/status", json={"status": "archived"}, headers=operator_headers(acme))
    assert client.get("/console/settings.json", headers={"Host": "acme.example"}).json()["bindings"] == []


@pytest.fixture
def showing(client: TestClient) -> Callable[..., TestClient]:
    """The API of a deployment that shows some tenants at any address."""
    app = client.app
    assert isinstance(app, FastAPI)

    def with_settings(**changes: Any) -> TestClient:
        app.state.services = replace(app.state.services, **changes)
        return client

    return with_settings


def test_a_showcase_is_offered_at_any_address_once(showing: Callable[..., TestClient], acme: str, brick: str) -> None:
    client = showing(showcase_tenants=("acme", "nobody"), is_local=True)
    told = client.get("/console/settings.json").json()
    assert told["local"] is True
    assert [one["tenant"] for one in told["bindings"]] == ["acme"]
    told = client.get("/console/settings.json", headers={"Host": "acme.example"}).json()
    assert [one["tenant"] for one in told["bindings"]] == ["acme"]


def test_the_page_is_told_who_answers_on_a_laptop(showing: Callable[..., TestClient], acme: str, brick: str) -> None:
    host = {"Host": f"{acme}.example"}

    def who_answers(model: str) -> tuple[str, list[str]]:
        told = showing(laptop_model=model).get("/console/settings.json", headers=host).json()
        return told["model"], told["demo_tenants"]

    assert who_answers("live") == ("live", [])
    assert who_answers("demo") == ("offline", [])
    files = sample_pack_files(acme, f"{acme}.example")
    files["demo/hello.yaml"] = "ask: [hello]\nreplies: [Hello!]\n"
    client = showing(laptop_model="demo")
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).status_code == 200
    assert who_answers("demo") == ("offline", [acme])
    assert who_answers("offline") == ("offline", [])
    other = showing(laptop_model="demo", showcase_tenants=(brick, acme)).get("/console/settings.json").json()
    assert (other["model"], other["demo_tenants"]) == ("offline", [acme])
    exported = client.get("/v1/pack", headers=operator_headers(acme)).json()["files"]
    assert exported["demo/hello.yaml"] == "ask:\n  - hello\nreplies:\n  - text: Hello!\n"


def test_the_page_is_told_how_to_sign_in_and_may_ask_exactly_these_issuers(
    database_pool: DatabasePool, clock: ManualClock, queue: RecordingQueue, queues: FakeQueues
) -> None:
    ways = parse_sign_ins(("https://login.example.com/t1", "http://127.0.0.1:8704"), "console", "")
    services = replace(make_dependencies(database_pool, clock, queue, queues), sign_ins=ways)
    client = TestClient(create_app(services))
    assert client.get("/console/settings.json").json()["sign_in"] == [
        {"issuer": "https://login.example.com/t1", "client_id": "console", "name": "login.example.com"},
        {"issuer": "http://127.0.0.1:8704", "client_id": "console", "name": "127.0.0.1"},
    ]
    policy = client.get("/console/").headers["content-security-policy"]
    assert "connect-src 'self' https://files.example.org https://login.example.com http://127.0.0.1:8704;" in policy


def test_health_asks_nobody(client: TestClient) -> None:
    answer = client.get("/v1/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_a_sign_in_tells_who_it_is_and_which_tenants_it_may_enter(client: TestClient, acme: str, brick: str) -> None:
    operator = {"Authorization": operator_headers(acme)["Authorization"]}
    choice = client.get("/v1/me/tenants", headers=operator).json()
    both = choice["tenants"]
    assert ([one["slug"] for one in both], choice["has_more_tenants"]) == ([acme, brick], False)
    me = client.get("/v1/me", headers=operator_headers(acme)).json()
    assert (me["tenant"], me["tenants"], me["name"]) == (acme, both, "")
    key = create_key_headers(client, brick, "viewer")
    assert client.get("/v1/me/tenants", headers=key).json()["tenants"] == both[1:]
    me = client.get("/v1/me", headers=key).json()
    assert (me["kind"], me["name"], me["roles"], me["tenants"]) == ("key", "test", ["viewer"], both[1:])
    visitor = open_session(client, acme)
    assert client.get("/v1/me", headers=visitor.headers).json()["tenants"] == both[:1]
    for refused in ({}, {"Authorization": "Bearer x"}):
        assert client.get("/v1/me/tenants", headers=refused).status_code == 401


def test_every_answer_of_the_api_is_described(client: TestClient) -> None:
    described = client.get("/v1/openapi.json").json()["paths"]
    assert {"/v1/sessions", "/v1/sessions/{session_id}/stream", "/v1/pack", "/v1/turns/{turn_id}"} <= set(described)
    assert all(operation.get("description") for path in described.values() for operation in path.values())


def test_limits_are_by_path() -> None:
    assert (middleware.max_body_bytes("/v1/pack"), middleware.max_body_bytes("/v1/sessions")) == (
        6 * 1024 * 1024,
        256 * 1024,
    )
