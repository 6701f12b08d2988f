"""A call of one tool by its developer: the checks of a turn, and nothing that a turn would ask about without a yes."""

import json
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from parlour.api.app import create_app
from parlour.infra.errors import ToolFailed
from tests.integration.api.conftest import (
    FakeQueues,
    create_key_headers,
    operator_headers,
    sample_pack_files,
)
from tests.integration.cli.test_commands import RunCommand, configured, parlour, programs

__all__ = ["configured", "parlour", "programs"]

SCHEMA = "{type: object, properties: {day: {type: string}}, required: [day], additionalProperties: false}"


def add_tool(client: TestClient, tenant: str, flags: str = "", binding: str = "") -> None:
    """Apply the tenant's pack with a tool `free_times`, which its agent has."""
    files = sample_pack_files(tenant, f"{tenant}.example")
    files["tenant.yaml"] += "tool_hosts: [rooms.example]\n"
    files["agents/adviser.yaml"] = files["agents/adviser.yaml"].replace("search_knowledge]", "free_times]")
    files["bindings/desk.yaml"] += binding
    files["tools/free_times.yaml"] = (
        f"description: Free times.\nschema: {SCHEMA}\nendpoint: https://rooms.example/free\n{flags}"
    )
    answer = client.put("/v1/pack", json={"files": files}, headers=operator_headers(tenant))
    assert answer.status_code == 200, answer.text


def test_a_tool_is_called_with_its_result_and_time(
    client: TestClient, acme: str, queues: FakeQueues, parlour: RunCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_tool(client, acme)
    assert parlour("tool", "call", "free_times", '{"day": "2026-03-03"}') == 0
    printed = capsys.readouterr().out
    assert printed.startswith("done, ")
    assert " ms\n" in printed
    assert '"number": "R-1"' in printed
    assert queues.tool_endpoint.calls == [{"day": "2026-03-03"}]
    entries = client.get("/v1/audit", headers=operator_headers(acme)).json()["entries"]
    assert ("tool.called", "tool:free_times") in [(entry["action"], entry["target"]) for entry in entries]
    assert "2026-03-03" not in json.dumps(entries)


@pytest.mark.parametrize(
    ("flags", "binding", "approver"),
    [
        ("needs_approval: always\n", "", "the user"),
        ("writes: true\nneeds_approval: writes\napprover: editor\n", "", "role editor"),
        ("", "needs_approval: always\n", "the user"),
        ("needs_approval: {type: object, properties: {day: {const: Sunday}}}\n", "", "the user"),
    ],
)
def test_what_a_turn_would_ask_about_is_not_done_without_a_yes(
    client: TestClient,
    acme: str,
    queues: FakeQueues,
    parlour: RunCommand,
    capsys: pytest.CaptureFixture[str],
    flags: str,
    binding: str,
    approver: str,
) -> None:
    add_tool(client, acme, flags, binding)
    assert parlour("tool", "call", "free_times", '{"day": "Sunday"}') == 1
    printed = capsys.readouterr().out
    assert approver in printed
    assert "--yes" in printed
    assert queues.tool_endpoint.calls == []
    assert parlour("tool", "call", "free_times", '{"day": "Sunday"}', "--yes") == 0
    assert len(queues.tool_endpoint.calls) == 1


def test_a_failed_call_shows_its_cause_to_its_developer(
    client: TestClient, acme: str, queues: FakeQueues, parlour: RunCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    add_tool(client, acme)
    queues.tool_endpoint.problem = ToolFailed(detail="HTTP 500: no rooms today")
    assert parlour("tool", "call", "free_times", '{"day": "1"}') == 1
    assert "HTTP 500: no rooms today" in capsys.readouterr().out
    queues.tool_endpoint.calls.clear()
    for arguments, words in [("{}", "day"), ('{"day": 1}', "day"), ("[]", "object"), ("day", "not JSON")]:
        assert parlour("tool", "call", "free_times", arguments) != 0
        printed = capsys.readouterr()
        assert words in printed.out + printed.err
    assert queues.tool_endpoint.calls == []


def test_only_an_administrator_tries_tools_of_their_own_tenant(
    client: TestClient, acme: str, brick: str, queues: FakeQueues
) -> None:
    add_tool(client, acme)

    def status(headers: dict[str, str], name: str = "free_times", agreed: bool = True) -> int:
        body = {"arguments": {"day": "1"}, "agreed": agreed}
        return int(client.post(f"/v1/tools/{name}/calls", json=body, headers=headers).status_code)

    assert [status(create_key_headers(client, acme, role)) for role in ("viewer", "editor")] == [403, 403]
    assert status(create_key_headers(client, brick, "admin")) == 404
    admin = create_key_headers(client, acme, "admin")
    assert [status(admin, "nothing"), status(admin, "search_knowledge")] == [404, 422]
    assert queues.tool_endpoint.calls == []
    assert status(admin) == 200


def test_a_deployment_without_tool_calls_names_where_to_try_them(client: TestClient, acme: str) -> None:
    add_tool(client, acme)
    services = client.app.state.services  # type: ignore[attr-defined]
    in_cloud = TestClient(create_app(replace(services, tool_endpoints={})))
    answer = in_cloud.post("/v1/tools/free_times/calls", json={"arguments": {}}, headers=operator_headers(acme))
    assert answer.status_code == 409
    assert "make run" in answer.json()["error"]["message"]
