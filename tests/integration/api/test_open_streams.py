"""Streams end where no turn begins, and one visitor or address cannot hold all of them."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from fastapi.testclient import TestClient

from parlour.api.event_stream import StreamTiming
from parlour.api.routes import agui
from parlour.inbox import threads
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.tenancy import open_streams
from parlour.tenancy.limits import DEFAULT_LIMITS
from parlour.tenancy.roles import operator_principal
from tests.integration.api.conftest import EventFeed, ManualClock, VisitorSession, open_session

_COUNT = Query("test.count", "-", "SELECT count(*) FROM open_streams")
_OWNER = Query("test.owner", "-", "SELECT user_id FROM sessions WHERE id = %(id)s")


def run_agent(visit: VisitorSession, message_id: str = "m") -> Any:
    run = {
        "threadId": visit.session_id,
        "runId": "run",
        "state": None,
        "messages": [{"id": message_id, "role": "user", "content": "Is somebody there?"}],
        "tools": [],
        "context": [],
        "forwardedProps": None,
    }
    return visit.client.post("/v1/agui/desk", json=run, headers=visit.headers)


def find_owner(database: Database, feed: EventFeed, visit: VisitorSession) -> UUID:
    with database.transaction(feed.tenant_id) as tx:
        found: UUID = tx.value(_OWNER, id=UUID(visit.session_id))
    return found


def leave_open(database: Database, feed: EventFeed, visit: VisitorSession, clock: ManualClock, address: str) -> bool:
    """Open a stream that nobody closes, as a process that dies does."""
    user_id = find_owner(database, feed, visit)
    with database.transaction(feed.tenant_id) as tx:
        return open_streams.open_stream(tx, uuid7(clock()), user_id, DEFAULT_LIMITS, address, clock())


def count_open(database: Database, feed: EventFeed) -> int:
    with database.transaction(feed.tenant_id) as tx:
        found: int = tx.value(_COUNT)
    return found


def hold(database: Database, feed: EventFeed, visit: VisitorSession, clock: ManualClock) -> None:
    """A colleague brings the conversation to the inbox."""
    admin = operator_principal(feed.tenant_id)
    with database.transaction(admin) as tx:
        threads.open_thread(admin, tx, UUID(visit.session_id), "member", "", clock())


@pytest.mark.parametrize("taken", [False, True])
def test_a_run_ends_at_once_where_people_have_the_thread(
    database: Database, feed: EventFeed, visit: VisitorSession, clock: ManualClock, taken: bool
) -> None:
    hold(database, feed, visit, clock)
    if taken:
        admin = operator_principal(feed.tenant_id)
        with database.transaction(admin) as tx:
            threads.take(admin, tx, UUID(visit.session_id), clock())
    began = time.monotonic()
    answer = run_agent(visit)
    assert time.monotonic() - began < 10
    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert [event["type"] for event in events][-1] == "RUN_FINISHED"
    assert [one["text"] for one in visit.get("/messages").json()["messages"]] == ["Is somebody there?"]
    assert count_open(database, feed) == 0


def test_a_visitor_has_two_streams_and_polls_beside(
    database: Database, feed: EventFeed, visit: VisitorSession, clock: ManualClock
) -> None:
    assert [leave_open(database, feed, visit, clock, "") for _ in range(3)] == [True, True, False]
    refused = visit.get("/stream")
    assert (refused.status_code, refused.headers["retry-after"]) == (429, str(open_streams.RETRY_SECONDS))
    assert run_agent(visit).status_code == 429
    assert visit.get("/events").status_code == 200
    assert visit.send("Hello").status_code == 202


def test_another_visitor_follows_meanwhile(
    database: Database, feed: EventFeed, visit: VisitorSession, client: TestClient, acme: str, clock: ManualClock
) -> None:
    for _ in range(3):
        leave_open(database, feed, visit, clock, "home")
    other = open_session(TestClient(client.app, client=("198.51.100.7", 1)), acme)
    hold(database, feed, other, clock)
    assert run_agent(other).status_code == 200


def test_an_address_has_five_streams(
    database: Database, feed: EventFeed, visit: VisitorSession, client: TestClient, acme: str, clock: ManualClock
) -> None:
    visits = [visit, *(open_session(client, acme) for _ in range(6))]
    opened = [leave_open(database, feed, one, clock, "office") for one in visits]
    assert opened == [True] * 5 + [False] * 2
    assert leave_open(database, feed, visits[-1], clock, "elsewhere")


def test_the_streams_of_a_process_that_died_count_no_more(
    database: Database, feed: EventFeed, visit: VisitorSession, clock: ManualClock
) -> None:
    for _ in range(2):
        assert leave_open(database, feed, visit, clock, "home")
    clock.advance(seconds=331)
    assert leave_open(database, feed, visit, clock, "home")
    assert count_open(database, feed) == 1


def test_runs_at_once_are_counted_one_by_one(
    database: Database, feed: EventFeed, visit: VisitorSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agui, "LIVE_TIMING", StreamTiming(max_seconds=4, max_wait=0.5))
    with ThreadPoolExecutor(6) as threads_of_runs:
        statuses = list(threads_of_runs.map(lambda n: run_agent(visit, f"m{n}").status_code, range(6)))
    assert sorted(statuses) == [200] * 2 + [429] * 4
    assert count_open(database, feed) == 0
    assert len(visit.get("/messages").json()["messages"]) == 2


def test_a_run_that_is_refused_later_holds_no_stream(
    database: Database, feed: EventFeed, visit: VisitorSession
) -> None:
    visit.client.app.state.services.turns_web_queue.problem = RuntimeError  # type: ignore[attr-defined]
    assert run_agent(visit).status_code == 500
    assert count_open(database, feed) == 0


def test_runs_are_counted_as_streams_are(visit: VisitorSession) -> None:
    assert [visit.get("/stream", params={"after": 9}).status_code for _ in range(30)] == [422] * 30
    assert run_agent(visit).status_code == 429
