"""A tool's late answer over the API: the token says which call, anything else is refused."""

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.infra.ids import uuid7
from parlour.tools import callbacks
from parlour.tools.callbacks import Callback
from tests.integration.api.attention_items import AttentionItems
from tests.integration.api.conftest import TOKEN_SECRET, EventFeed, ManualClock, RecordingQueue


@pytest.fixture
def call_id(feed: EventFeed) -> UUID:
    """A long call that its tool has taken."""
    trouble = AttentionItems(feed.database, feed.tenant_id, feed.session_id, feed.now)
    found = trouble.add_tool_call("running", heavy=True)
    with feed.database.transaction(feed.tenant_id) as tx:
        tx._connection.execute("UPDATE tool_calls SET code = 'accepted', run_token = 1 WHERE id = %s", (found,))
    return found


def posted(
    client: TestClient, feed: EventFeed, clock: ManualClock, call_id: UUID, body: Any, secret: str = TOKEN_SECRET
) -> Any:
    callback = Callback(feed.tenant_id, call_id, 1)
    url = callbacks.make_callback_url("", callback, secret, clock.now + timedelta(hours=1), clock.now)
    if isinstance(body, bytes):
        return client.post(url, content=body, headers={"content-type": "application/json"})
    return client.post(url, json=body)


def test_a_result_ends_the_call_and_wakes_the_conversation_and_may_come_twice(
    client: TestClient, feed: EventFeed, clock: ManualClock, call_id: UUID, queue: RecordingQueue
) -> None:
    queue.messages.clear()
    for _ in range(2):
        answer = posted(client, feed, clock, call_id, {"pages": 12})
        assert (answer.status_code, answer.json()) == (200, {"tool_call_id": str(call_id), "state": "done"})
    with feed.database.transaction(feed.tenant_id) as tx:
        told = tx._connection.execute("SELECT body FROM messages WHERE kind = 'tool_result'").fetchall()
    assert len(told) == 1
    assert '"pages":12' in told[0][0]
    assert queue.messages


@pytest.mark.parametrize(("name", "state"), [("pages", "done"), ("error", "failed")])
def test_what_is_nested_endlessly_is_taken_too(
    client: TestClient, feed: EventFeed, clock: ManualClock, call_id: UUID, name: str, state: str
) -> None:
    deep = f'{{"{name}": {"[" * 5_000}{"]" * 5_000}}}'.encode()

    assert posted(client, feed, clock, call_id, deep).json()["state"] == state


def test_a_failure_is_told_as_one(client: TestClient, feed: EventFeed, clock: ManualClock, call_id: UUID) -> None:
    answer = posted(client, feed, clock, call_id, {"error": "no such project"})
    assert answer.json()["state"] == "failed"


@pytest.mark.parametrize(
    ("body", "status"), [(["no object"], 422), ("text", 422), ({"x": "y" * 300_000}, 413), ({"x": "\x00"}, 200)]
)
def test_only_an_object_of_bearable_size_is_taken(
    client: TestClient, feed: EventFeed, clock: ManualClock, call_id: UUID, body: Any, status: int
) -> None:
    assert posted(client, feed, clock, call_id, body).status_code == status


def test_nobody_gets_in_without_the_token(
    client: TestClient, feed: EventFeed, clock: ManualClock, call_id: UUID
) -> None:
    assert posted(client, feed, clock, call_id, {}, "x" * 40).status_code == 401
    assert client.post(f"{callbacks.CALLBACK_PATH}/{call_id}", json={}).status_code == 401
    assert posted(client, feed, clock, uuid7(clock.now), {}).status_code == 404
    clock.advance(days=8)
    stale = callbacks.make_callback_url("", Callback(feed.tenant_id, call_id, 1), TOKEN_SECRET, feed.now, feed.now)
    assert client.post(stale, json={}).status_code == 401
