"""Attacks on the route by which a developer calls one tool, past the agent and its questions."""

import json

from fastapi.testclient import TestClient

from parlour.api.app import create_app
from parlour.api.database_pool import DatabasePool
from tests.conversation_harness import ConversationHarness
from tests.integration.api.conftest import (
    FakeQueues,
    ManualClock,
    RecordingQueue,
    create_key_headers,
    make_dependencies,
)

_SCHEMA = {"type": "object", "properties": {"message": {"type": "string"}}}


def _calls(desk: ConversationHarness, role: str, *, agreed: bool) -> bool:
    """Whether a key with a role calls a tool that asks a person first."""
    desk.add_tool("page", lambda _context, _arguments: {})
    desk.query(
        f"UPDATE tools SET endpoint = 'https://office.example/page', schema = '{json.dumps(_SCHEMA)}', "
        "needs_approval = '\"always\"' WHERE name = 'page' RETURNING id"
    )
    queues = FakeQueues()
    services = make_dependencies(
        DatabasePool(lambda: desk.database), ManualClock(desk.clock()), RecordingQueue(), queues
    )
    client = TestClient(create_app(services))
    client.post(
        "/v1/tools/page/calls",
        json={"arguments": {"message": "stop all work"}, "agreed": agreed},
        headers=create_key_headers(client, "northbank", role),
    )
    return bool(queues.tool_endpoint.calls)


def editor_calls_a_tool_past_the_agent(desk: ConversationHarness) -> bool:
    return any(_calls(desk, role, agreed=True) for role in ("viewer", "editor"))


def admin_calls_a_tool(desk: ConversationHarness) -> bool:
    return _calls(desk, "admin", agreed=True)


def tool_that_asks_is_called_without_a_yes(desk: ConversationHarness) -> bool:
    return _calls(desk, "admin", agreed=False)
