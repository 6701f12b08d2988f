"""What every request and every answer has in common, whatever went wrong."""

import io
import json
from collections.abc import Callable, Iterator

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from parlour.infra.errors import DatabaseUnavailable, Misconfigured, ParlourError
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from tests.integration.api.conftest import VisitorSession, operator_headers, sample_pack_files

CANARY = "canary-9f2c"

_CUT = """
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not_found"),
        ("GET", "/console/nothing.js", 404, "not_found"),
        ("GET", "/console/../services.py", 404, "not_found"),
        ("GET", "/console/%2e%2e/services.py", 404, "not_found"),
        ("GET", "/v1/sessions/", 404, "not_found"),
        ("PATCH", "/v1/sessions", 405, "method_not_allowed"),
        ("POST", "/console/index.html", 405, "method_not_allowed"),
        ("GET", "/v1/turns", 401, "unauthenticated"),
        ("GET", "/v1/sessions/not-an-id/events", 401, "unauthenticated"),
    ],
)
def test_refusals_have_one_shape(client: TestClient, method: str, path: str, status: int, code: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert set(answer.json()["error"]) == {"code", "message"}
    assert answer.json()["error"]["code"] == code


def test_a_body_that_is_not_json_is_refused(client: TestClient) -> None:
    for body in (b"{", b"\xff\xfe", b"[" * 100_000, b'{"host": 1e', b"9" * 10_000):
        answer = client.post("/v1/sessions", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in {400, 422}
        assert answer.json()["error"]["code"] in {"malformed_payload", "invalid_request"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "body"),
        ([], "body"),
        ({"host": "a\0b"}, "host"),
        ({"host": "a b"}, "host"),
        ({"host": "a.example", "tenant": "acme"}, "body"),
        ({"tenant": "acme"}, "body"),
        ({"tenant": "ACME", "binding": "desk"}, "tenant"),
        ({"tenant": "acme", "binding": "x" * 64}, "binding"),
        ({"host": "a.example", "colour": "red"}, "colour"),
        ({"host": "a.example", "\ud800": 1}, "body"),
    ],
)
def test_a_wrong_field_is_named(client: TestClient, body: object, field: str) -> None:
    answer = client.post("/v1/sessions", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    problems = answer.json()["error"]["problems"]
    assert field in [problem["field"] for problem in problems]


def test_a_body_that_says_it_is_too_large_is_refused_unread(visit: VisitorSession) -> None:
    answer = visit.send("x" * 300_000)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_body_that_turns_out_too_large_is_refused(visit: VisitorSession) -> None:
    def chunks() -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(40):
            yield b"x" * 10_000
        yield b'"}'

    address = f"/v1/sessions/{visit.session_id}/messages"
    answer = visit.client.post(address, content=chunks(), headers={**visit.headers, "Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")


def test_a_pack_may_be_larger_than_a_message(client: TestClient, acme: str) -> None:
    files = {**sample_pack_files(acme, "acme.example"), "README.txt": "x" * 400_000}
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).status_code != 413
    files["README.txt"] = "x" * 7_000_000
    assert client.put("/v1/pack", json={"files": files}, headers=operator_headers(acme)).status_code == 413


def test_every_answer_is_guarded(client: TestClient, acme: str) -> None:
    for path in ("/v1/health", "/v1/nothing", "/v1/turns"):
        answer = client.get(path)
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in answer.headers


@pytest.fixture
def breaking(client: TestClient) -> Callable[[Exception], TestClient]:
    """The API with an endpoint that goes wrong as the test wants it."""
    app = client.app
    assert isinstance(app, FastAPI)

    def going_wrong(problem: Exception) -> TestClient:
        def endpoint() -> None:
            raise problem

        app.router.routes[:] = [route for route in app.router.routes if getattr(route, "path", "") != "/v1/break"]
        app.get("/v1/break")(endpoint)
        app.router.routes.insert(0, app.router.routes.pop())
        return client

    return going_wrong


@pytest.mark.parametrize(
    ("problem", "status", "code"),
    [
        (ValueError(CANARY), 500, "internal"),
        (LookupError(CANARY), 500, "internal"),
        (Misconfigured(CANARY), 503, "misconfigured"),
        (ParlourError(CANARY), 500, "error"),
    ],
)
def test_what_goes_wrong_inside_stays_inside(
    breaking: Callable[[Exception], TestClient],
    logged: io.StringIO,
    capsys: pytest.CaptureFixture[str],
    problem: Exception,
    status: int,
    code: str,
) -> None:
    answer = breaking(problem).get("/v1/break")
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.headers["cache-control"] == "no-store"
    told = answer.text + logged.getvalue() + "".join(capsys.readouterr())
    assert "request_failed" in told
    assert CANARY not in told
    assert "Traceback" not in told


def test_a_database_that_is_away_is_worth_another_try(breaking: Callable[[Exception], TestClient]) -> None:
    answer = breaking(DatabaseUnavailable()).get("/v1/break")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    assert answer.json()["error"]["code"] == "database_unavailable"
    assert breaking(DatabaseUnavailable(retry_after=30)).get("/v1/break").headers["retry-after"] == "30"


def test_a_lost_connection_is_replaced_within_the_request(
    visit: VisitorSession, open_database: Callable[[], Database]
) -> None:
    with open_database().transaction(None) as tx:
        tx.value(Query("test.cut", "-", _CUT))
    assert visit.send("Hello").status_code == 202
