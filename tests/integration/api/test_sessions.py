"""Talking to an agent on the web, and who may not."""

import json
import time
import uuid
from typing import Any

import pytest
from fastapi.testclient import TestClient

from parlour.api import event_stream
from parlour.api.event_stream import StreamTiming
from parlour.infra.errors import QueueUnavailable
from parlour.infra.queries import Query
from tests.integration.api.conftest import (
    DONE_EVENT,
    EventFeed,
    ManualClock,
    RecordingQueue,
    VisitorSession,
    create_key_headers,
    open_session,
    operator_headers,
)


def test_a_visitor_is_greeted_by_the_binding_of_the_host(client: TestClient, acme: str) -> None:
    answer = client.post("/v1/sessions", json={"host": "ACME.example:443"})
    assert answer.status_code == 201
    opened = answer.json()
    assert opened["binding"] == {"slug": "desk", "name": "Site desk", "greeting": "Good morning"}
    assert opened["expires_at"] == "2026-03-03T09:30:00Z"
    assert opened["visitor_expires_at"] == "2026-05-31T09:30:00Z"


def test_a_binding_may_be_named_by_its_id(client: TestClient, acme: str) -> None:
    shown = client.get("/v1/bindings", headers=operator_headers(acme)).json()["bindings"]
    desk = next(binding for binding in shown if binding["slug"] == "desk")
    answer = client.post("/v1/sessions", json={"tenant": acme, "binding": desk["id"]})
    assert answer.status_code == 201


@pytest.mark.parametrize(
    "wanted",
    [
        {"host": "nobody.example"},
        {"host": "office.acme.example"},
        {"tenant": "acme", "binding": "office"},
        {"tenant": "acme", "binding": "nobody"},
        {"tenant": "acme", "binding": str(uuid.uuid4())},
        {"tenant": "nobody", "binding": "desk"},
    ],
)
def test_nobody_is_met_behind_a_private_door_or_an_unknown_name(
    client: TestClient, acme: str, wanted: dict[str, str]
) -> None:
    answer = client.post("/v1/sessions", json=wanted)
    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_nobody_is_met_at_a_tenant_that_is_closed(client: TestClient, acme: str) -> None:
    client.put("/v1/tenant/status", json={"status": "archived"}, headers=operator_headers(acme))
    assert client.post("/v1/sessions", json={"tenant": acme, "binding": "desk"}).status_code == 404


def test_a_message_is_stored_and_wakes_the_turn(visit: VisitorSession, queue: RecordingQueue) -> None:
    answer = visit.send("When is the pour?")
    assert answer.status_code == 202
    assert answer.json()["received_at"] == "2026-03-02T09:30:00Z"
    assert [message.body["session_id"] for message in queue.messages] == [visit.session_id]
    stored = visit.get("/messages").json()["messages"]
    assert [(one["id"], one["text"], one["direction"], one["citations"]) for one in stored] == [
        (answer.json()["message_id"], "When is the pour?", "inbound", [])
    ]


def test_the_same_client_id_is_the_same_message(visit: VisitorSession) -> None:
    first, second = (visit.send("Once", client_message_id="m-1").json() for _ in range(2))
    assert first["message_id"] == second["message_id"]
    assert len(visit.get("/messages").json()["messages"]) == 1


@pytest.mark.parametrize(
    ("text", "kept"), [("a\0b", "ab"), ("a\ud800b", "ab"), (" a\r\nb ", "a\nb"), ("x" * 8000, "x" * 8000)]
)
def test_text_is_cleaned_and_answered(visit: VisitorSession, text: str, kept: str) -> None:
    body = json.dumps({"text": text})
    headers = {**visit.headers, "Content-Type": "application/json"}
    answer = visit.client.post(f"/v1/sessions/{visit.session_id}/messages", content=body, headers=headers)
    assert answer.status_code == 202
    assert visit.get("/messages").json()["messages"][0]["text"] == kept


@pytest.mark.parametrize("text", ["", "   ", "\0", "x" * 8001, "x" * 10_000, None, 7, ["a"]])
def test_text_that_cannot_be_answered_is_refused(visit: VisitorSession, queue: RecordingQueue, text: object) -> None:
    answer = visit.send(text)
    assert answer.status_code == 422
    assert answer.json()["error"]["problems"][0]["field"] == "text"
    assert queue.messages == []


@pytest.mark.parametrize("client_id", ["", "x" * 65, "a b", "a\0", "é"])
def test_a_client_id_is_short_and_plain(visit: VisitorSession, client_id: str) -> None:
    assert visit.send("Hello", client_message_id=client_id).status_code == 422


@pytest.mark.parametrize("path", ["/messages", "/events", "/stream"])
def test_somebody_elses_session_is_not_there(
    client: TestClient, visit: VisitorSession, acme: str, brick: str, path: str
) -> None:
    for other in (open_session(client, acme), open_session(client, brick)):
        answer = client.get(f"/v1/sessions/{visit.session_id}{path}", headers=other.headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


def test_nobody_writes_in_somebody_elses_session(
    client: TestClient, visit: VisitorSession, acme: str, brick: str
) -> None:
    address = f"/v1/sessions/{visit.session_id}/messages"
    for other in (open_session(client, acme), open_session(client, brick)):
        assert client.post(address, json={"text": "Hi"}, headers=other.headers).status_code == 404
    assert (
        client.post(address, json={"text": "Hi"}, headers=create_key_headers(client, acme, "admin")).status_code == 403
    )
    assert visit.get("/messages").json()["messages"] == []


def test_a_visitor_opens_more_sessions_each_with_a_token_of_its_own(
    client: TestClient, visit: VisitorSession, acme: str
) -> None:
    wanted = {"tenant": acme, "binding": "desk"}
    assert client.post("/v1/sessions", json=wanted, headers=visit.headers).status_code == 403
    second = open_session(client, acme, Authorization=f"Bearer {visit.visitor_token}")
    assert second.session_id != visit.session_id
    assert second.send("Hello again").status_code == 202
    assert client.get(f"/v1/sessions/{second.session_id}/messages", headers=visit.headers).status_code == 404


def test_a_viewer_reads_a_session_and_a_plain_key_does_not(
    client: TestClient, visit: VisitorSession, acme: str
) -> None:
    visit.send("Hello")
    address = f"/v1/sessions/{visit.session_id}/messages"
    assert len(client.get(address, headers=create_key_headers(client, acme, "viewer")).json()["messages"]) == 1
    assert client.get(address, headers=create_key_headers(client, acme)).status_code == 404


def test_an_expired_token_is_refused(visit: VisitorSession, clock: ManualClock) -> None:
    clock.advance(hours=23)
    assert visit.get("/messages").status_code == 200
    clock.advance(hours=1.1)
    answer = visit.get("/messages")
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert visit.client.post("/v1/sessions", json={"host": "acme.example"}, headers=visit.headers).status_code == 401


@pytest.mark.parametrize(
    "authorization", ["", "Bearer", "Bearer x", "Basic eDp5", "Bearer a.b.c", "Bearer " + "x" * 9000]
)
def test_without_good_credentials_nothing_is_told(
    client: TestClient, visit: VisitorSession, authorization: str
) -> None:
    answer = client.get(
        f"/v1/sessions/{visit.session_id}/messages", headers={"Authorization": authorization, "Parlour-Tenant": "acme"}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthenticated")


def test_when_the_queue_is_down_the_caller_is_told_to_come_back(visit: VisitorSession, queue: RecordingQueue) -> None:
    queue.problem = QueueUnavailable()
    answer = visit.send("Hello", client_message_id="m-1")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
    queue.problem = None
    assert visit.send("Hello", client_message_id="m-1").status_code == 202
    assert len(queue.messages) == 1


def test_events_are_read_after_a_number(visit: VisitorSession, feed: EventFeed) -> None:
    turn = feed.add_turn(
        ("session", {"turn_id": str(uuid.UUID(int=1)), "number": 1}),
        ("text_delta", {"text": "Hel"}),
        ("text_delta", {"text": "lo"}),
        DONE_EVENT,
    )
    found = visit.get("/events", params={"after": 2}).json()["events"]
    assert [(event["number"], event["kind"], event["payload"]) for event in found] == [
        (3, "text_delta", {"text": "lo", "block": 1}),
        (4, *DONE_EVENT),
    ]
    assert {event["turn_id"] for event in found} == {str(turn)}
    assert visit.get("/events", params={"after": -1}).status_code == 422
    assert visit.get("/events", params={"after": 10**30}).status_code == 422


def test_the_stream_ends_when_the_newest_turn_is_done(visit: VisitorSession, feed: EventFeed) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    feed.add_turn(("text_delta", {"text": "Two"}), DONE_EVENT)
    answer = visit.get("/stream")
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert ids(answer) == ["1", "2", "3", "4"]


def test_the_stream_resumes_after_the_last_event_that_was_seen(visit: VisitorSession, feed: EventFeed) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), ("text_delta", {"text": "Two"}), DONE_EVENT)
    assert ids(visit.get("/stream", headers={"Last-Event-ID": "2"})) == ["3"]
    assert ids(visit.get("/stream", params={"after": 1})) == ["2", "3"]
    assert visit.get("/stream", headers={"Last-Event-ID": "two"}).status_code == 422
    future = visit.get("/stream", params={"after": 4})
    assert (future.status_code, "number 3" in future.json()["error"]["message"]) == (422, True)


def test_a_session_is_busy_while_a_turn_runs_or_is_about_to(visit: VisitorSession, feed: EventFeed) -> None:
    feed.add_turn(DONE_EVENT)
    assert visit.get("").json()["has_open_turn"] is False
    visit.send("And now?")
    assert visit.get("").json()["has_open_turn"] is True


def test_a_silent_stream_ends_unless_a_turn_is_open(
    visit: VisitorSession, feed: EventFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "LIVE_TIMING", StreamTiming(max_wait=0.01, max_seconds=0.5, max_idle=0.1))
    begun = time.monotonic()
    feed.add_turn(("text_delta", {"text": "One"}))
    assert ids(visit.get("/stream")) == ["1"]
    assert time.monotonic() - begun < 0.5
    with feed.database.transaction(feed.tenant_id) as tx:
        tx.run(Query("test.open", "-", "UPDATE turns SET state = 'open', finished_at = NULL"))
    begun = time.monotonic()
    assert ids(visit.get("/stream")) == ["1"]
    assert time.monotonic() - begun >= 0.5


def ids(answer: Any) -> list[str]:
    return [line.removeprefix("id: ") for line in answer.text.splitlines() if line.startswith("id: ")]
