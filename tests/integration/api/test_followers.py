"""Many followers of one process: one look for all of them, a limit, and clients that stop reading."""

import asyncio
import io
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import uvicorn
from fastapi.testclient import TestClient

from parlour.api import event_stream, feed_watch
from parlour.api.database_pool import DatabasePool
from parlour.api.feed_watch import LOOK_INTERVAL, FeedWatch
from parlour.conversations import event_feed
from parlour.conversations.rows import Event
from parlour.infra.errors import DatabaseUnavailable, TooManyFollowers
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from tests.integration.api.conftest import DONE_EVENT, EventFeed, VisitorSession, open_session

_PIECE = 100_000
"""Characters of one event: some of them fill the buffers between server and client."""


@pytest.fixture
def counted(open_database: Callable[[], Database]) -> Iterator[Database]:
    database = open_database()
    yield database
    database.close()


def test_all_followers_wait_for_one_look_and_only_those_with_news_are_woken(
    counted: Database, feed: EventFeed, client: TestClient, acme: str, brick: str
) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    silent = uuid.UUID(open_session(client, acme).session_id)
    watch = FeedWatch(DatabasePool(lambda: counted))

    async def follow() -> list[int]:
        waits = [
            *(watch.wait(feed.tenant_id, feed.session_id, 1, 5) for _ in range(50)),
            watch.wait(feed.tenant_id, silent, 0, 5 * LOOK_INTERVAL),
            watch.wait(uuid.UUID(int=9), feed.session_id, 0, 5 * LOOK_INTERVAL),
        ]
        async with watch.follow():
            return await asyncio.gather(*waits)

    assert asyncio.run(follow()) == [2] * 50 + [0, 0]
    looks = counted.statements.by_name["conversations.find_newest_numbers"]
    assert looks <= 2 * 6, "one look for each tenant and interval"


def test_a_silent_session_is_looked_at_less_often_until_its_next_event(counted: Database, feed: EventFeed) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    watch = FeedWatch(DatabasePool(lambda: counted))

    async def follow(seconds: float) -> int:
        async with watch.follow():
            return await watch.wait(feed.tenant_id, feed.session_id, 2, seconds)

    assert asyncio.run(follow(20 * LOOK_INTERVAL)) == 2
    assert counted.statements.by_name["conversations.find_newest_numbers"] <= 13


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_the_last_follower_waits_for_the_query_under_way_and_no_longer(
    counted: Database, feed: EventFeed, is_cancelled: bool
) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    has_begun, may_end = threading.Event(), threading.Event()

    def open_slowly() -> Database:
        has_begun.set()
        may_end.wait(20)
        return counted

    watch = FeedWatch(DatabasePool(open_slowly))

    async def follow(number: int, seconds: float) -> int:
        async with watch.follow():
            return await watch.wait(feed.tenant_id, feed.session_id, number, seconds)

    async def leave_while_another_comes() -> int:
        leaving = asyncio.create_task(follow(2, 2 * LOOK_INTERVAL))
        while not (has_begun.is_set() and watch._followers == 0):
            await asyncio.sleep(0.01)
        assert not leaving.done()
        staying = asyncio.create_task(follow(2, 60))
        coming = asyncio.create_task(follow(1, 60))
        await asyncio.sleep(0)
        if is_cancelled:
            leaving.cancel()
        may_end.set()
        await asyncio.wait([leaving], timeout=20)
        assert leaving.done()
        assert leaving.cancelled() == is_cancelled
        assert not staying.done()
        found = await asyncio.wait_for(coming, 20)
        staying.cancel()
        return found

    assert asyncio.run(leave_while_another_comes()) == 2


@pytest.mark.parametrize("problem", [DatabaseUnavailable(), RuntimeError("no thread")])
def test_a_look_that_fails_is_logged_once_and_tried_again_after_a_pause(
    counted: Database, feed: EventFeed, problem: Exception, logged: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    is_away = True

    def open_if_there() -> Database:
        if is_away:
            raise problem
        return counted

    watch = FeedWatch(DatabasePool(open_if_there))

    def failures() -> int:
        return logged.getvalue().count('"message":"feeds_not_read"')

    async def follow(seconds: float) -> int:
        return await watch.wait(feed.tenant_id, feed.session_id, 1, seconds)

    async def follow_until_it_is_back() -> int:
        nonlocal is_away
        following = asyncio.create_task(follow(60))
        while failures() < 3:
            await asyncio.sleep(0.01)
        is_away = False
        return await following

    assert asyncio.run(follow(5 * LOOK_INTERVAL)) == 1
    assert failures() == 1
    monkeypatch.setattr(feed_watch, "_PAUSE_AFTER_FAILURE", LOOK_INTERVAL)
    assert asyncio.run(follow_until_it_is_back()) == 2
    assert failures() == 3


def test_a_visitor_reads_once_for_events_that_are_hidden_from_visitors(
    client: TestClient, visit: VisitorSession, feed: EventFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    timing = event_stream.StreamTiming(max_wait=5 * LOOK_INTERVAL, max_seconds=5 * LOOK_INTERVAL)
    monkeypatch.setattr(event_stream, "LIVE_TIMING", timing)
    reads: list[int] = []
    list_events = event_feed.list_events

    def count(principal: Principal, tx: Transaction, session_id: uuid.UUID, number: int) -> list[Event]:
        reads.append(number)
        return list_events(principal, tx, session_id, number)

    monkeypatch.setattr(event_feed, "list_events", count)
    feed.add_turn(("agent_state", {"state": "thinking"}), ("reasoning_delta", {"text": "Hm", "block": 1}))
    assert _ids(visit.get("/stream").text) == [1]
    assert len(reads) == len(set(reads)), "none is repeated"


def test_where_too_many_follow_another_is_told_to_come_back_and_misses_nothing(
    client: TestClient, visit: VisitorSession, feed: EventFeed
) -> None:
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    app = client.app
    usual = app.state.feed_watch  # type: ignore[attr-defined]
    app.state.feed_watch = FeedWatch(usual._databases, max_followers=0)  # type: ignore[attr-defined]
    refused = visit.get("/stream")
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "too_many_followers")
    assert int(refused.headers["retry-after"]) > 0
    assert [one["number"] for one in visit.get("/events").json()["events"]] == [1, 2]
    app.state.feed_watch = usual  # type: ignore[attr-defined]
    assert _ids(visit.get("/stream").text) == [1, 2]


def test_a_follower_who_leaves_makes_room() -> None:
    watch = FeedWatch(DatabasePool(lambda: pytest.fail("nobody waits")), max_followers=1)

    async def follow_twice() -> None:
        for _ in range(2):
            async with watch.follow():
                with pytest.raises(TooManyFollowers):
                    await watch.follow().__aenter__()

    asyncio.run(follow_twice())


def test_a_client_that_stops_reading_is_dropped_and_resumes_where_it_was(
    client: TestClient, visit: VisitorSession, feed: EventFeed, monkeypatch: pytest.MonkeyPatch, logged: io.StringIO
) -> None:
    monkeypatch.setattr(event_stream, "MAX_SEND_SECONDS", 0.2)
    feed.add_turn(*(("text_delta", {"text": f"{number} " + "x" * _PIECE}) for number in range(1, 150)), DONE_EVENT)
    with _serve(client) as port, socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        lines = (f"GET /v1/sessions/{visit.session_id}/stream HTTP/1.1", f"Authorization: Bearer {visit.token}")
        connection.sendall("\r\n".join((*lines, "Host: localhost", "", "")).encode())
        until = time.monotonic() + 20
        while "follower_dropped" not in logged.getvalue():
            assert time.monotonic() < until
            time.sleep(0.02)
        received = b""
        while piece := connection.recv(1 << 20):
            received += piece
    whole = received.decode().rpartition("\n\n")[0]
    first = _ids(whole)
    assert first[:1] == [1]
    assert len(first) < 150
    rest = _ids(visit.get("/stream", headers={"Last-Event-ID": str(first[-1])}).text)
    assert [*first, *rest] == list(range(1, 151))


def test_numbers_of_the_future_of_others_and_of_a_finished_turn(
    client: TestClient, visit: VisitorSession, feed: EventFeed, acme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "LIVE_TIMING", event_stream.StreamTiming(max_idle=0.1, max_wait=0.05))
    feed.add_turn(("text_delta", {"text": "One"}), DONE_EVENT)
    other = open_session(client, acme)
    resumed = {"Last-Event-ID": "2"}
    assert other.get("/stream", headers=resumed).status_code == 422, "its own feed has no such number"
    assert visit.get("/stream", headers={**other.headers, **resumed}).status_code == 404
    assert visit.get("/stream", headers={"Last-Event-ID": "3"}).status_code == 422
    assert _ids(visit.get("/stream", headers=resumed).text) == []
    assert _ids(visit.get("/stream", headers={"Last-Event-ID": "1"}).text) == [2]


@contextmanager
def _serve(client: TestClient) -> Iterator[int]:
    """Run the client's app under a web server; return its port."""
    server = uvicorn.Server(uvicorn.Config(client.app, port=0, log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)


def _ids(text: str) -> list[int]:
    return [int(line.removeprefix("id: ")) for line in text.splitlines() if line.startswith("id: ")]
