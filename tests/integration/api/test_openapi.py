"""The API's description: complete, and true of what the API does."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from fastapi.testclient import TestClient

from parlour.api import openapi, openapi_examples, openapi_links
from parlour.api.app import create_app, create_routes
from parlour.api.database_pool import DatabasePool
from parlour.infra.postgres import Database
from tests.conversation_harness import ConversationHarness
from tests.integration.api.conformance_run import run_conformance
from tests.integration.api.conftest import FakeQueues, ManualClock, RecordingQueue, make_dependencies
from tests.integration.api.described_tenant import DescribedTenant, fill_examples

DESCRIPTION = create_routes().openapi()
OPERATIONS: dict[str, tuple[str, dict[str, Any]]] = {
    operation["operationId"]: (path, operation) for path, _, operation in openapi.operations(DESCRIPTION)
}

UNSUCCESSFUL = {"POST /v1/sessions/{session_id}/phone/{link_id}", "POST /v1/routes/accept"}
"""Operations that no run brings to a 2xx: the code went to a phone, and only its hash is stored; no host waits in a
deployment with one tenant."""


def test_every_operation_has_a_name_of_its_own() -> None:
    assert len(OPERATIONS) == len([*openapi.operations(DESCRIPTION)])
    assert [name for name in OPERATIONS if not re.fullmatch(r"[a-z]+(_[a-z]+)+", name)] == []


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_says_what_it_takes_and_answers(name: str) -> None:
    path, operation = OPERATIONS[name]
    assert operation["summary"]
    assert operation["description"]
    assert {*operation["tags"]} <= {*openapi.TAGS}
    success = next(answer for status, answer in operation["responses"].items() if status.startswith("2"))
    [*types] = success.get("content", {})
    assert types in ([], ["application/json"], ["text/event-stream"])
    if types == ["application/json"]:
        model = _component(success["content"]["application/json"]["schema"])
        assert model["properties"], "a bare object"
    errors = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
    assert all(answer["$ref"] == f"#/components/responses/Error{status}" for status, answer in errors.items())
    assert ("503" in errors) == (name != "get_health")
    assert ("404" in errors) or "{" not in path
    if "requestBody" in operation:
        assert {"400", "413", "422"} <= errors.keys()
        assert operation["requestBody"]["content"]["application/json"]["example"] is not None
    if operation["security"]:
        assert {"401", "403"} <= errors.keys()


def test_what_is_said_of_operations_by_name_is_said_of_operations_there_are() -> None:
    named = {*openapi.MORE_STATUSES, *openapi_examples.BODY_EXAMPLES, *openapi_links.LINKS}
    named |= {link.operation for links in openapi_links.LINKS.values() for link in links}
    named |= {key.partition(".")[0] for key in openapi_examples.PARAMETER_EXAMPLES if "." in key}
    assert named - OPERATIONS.keys() == set()


def test_every_error_has_the_same_body() -> None:
    for answer in DESCRIPTION["components"]["responses"].values():
        body = _component(answer["content"]["application/json"]["schema"])
        assert body["properties"]["error"] == {"$ref": "#/components/schemas/ErrorDetail"}
    assert not {"HTTPValidationError", "ValidationError"} & DESCRIPTION["components"]["schemas"].keys()


def test_a_list_that_grows_is_read_with_a_cursor() -> None:
    for name, (_, operation) in OPERATIONS.items():
        taken = {parameter["name"] for parameter in operation.get("parameters", ())}
        if "limit" in taken and name != "run_search":
            assert "cursor" in taken, name
            answered = _component(operation["responses"]["200"]["content"]["application/json"]["schema"])
            assert answered["properties"]["next_cursor"]["type"] == "string", name


def test_the_description_needs_nothing_to_run_on() -> None:
    printed = subprocess.run([sys.executable, "-m", "local.openapi"], capture_output=True, check=True, env={})
    assert json.loads(printed.stdout) == DESCRIPTION


def test_the_api_does_what_its_description_says(
    conversation: ConversationHarness, open_database: Callable[[], Database], now: datetime
) -> None:
    pool, queues = DatabasePool(open_database), FakeQueues()
    app = create_app(make_dependencies(pool, ManualClock(now), RecordingQueue(), queues))
    tenant = DescribedTenant(conversation, TestClient(app), queues, now)
    document = app.openapi()
    fill_examples(document, *tenant.prepare())
    report = run_conformance(app, document, tenant.headers, tenant.headers_of)
    pool.close()
    assert report.failures == {}
    assert report.unsuccessful == UNSUCCESSFUL


def _component(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the model that a schema refers to."""
    assert "$ref" in schema, f"not a model: {schema}"
    found: dict[str, Any] = DESCRIPTION["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return found
