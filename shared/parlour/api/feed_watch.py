"""One look for all followers of this process: which of their sessions have new events.

A follower waits here, and reads its events itself, with its own rights, once there are any. So a hundred followers cost
one short query per tenant and look, not a hundred.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID

import anyio
from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from parlour.api.database_pool import DatabasePool
from parlour.conversations import event_feed
from parlour.infra import log
from parlour.infra.errors import ParlourError, TooManyFollowers

#: Seconds between two looks for a follower: a quarter of the time that it had no event, within these limits. The words
#: of a reply come in batches up to two seconds apart, so a batch is at most a quarter later than it could be.
LOOK_INTERVAL, MAX_LOOK_INTERVAL = 0.1, 0.5
_SHARE_OF_SILENCE = 0.25

#: Seconds after a look that failed, until the next.
_PAUSE_AFTER_FAILURE = 1.0

#: Streams that one process keeps open: each has a connection, and is read several times a second while a turn writes.
MAX_FOLLOWERS = 500

#: Seconds after which a refused follower is asked to try again.
_RETRY_AFTER = 5


@dataclass(slots=True, eq=False)
class _Waiter:
    """A follower that has a session's events up to a number.

    since      when it began to wait, after its last event, by the event loop's clock.
    next_look  when its session is looked at next.
    """

    tenant_id: UUID
    session_id: UUID
    number: int
    since: float
    next_look: float
    has_news: asyncio.Event = field(default_factory=asyncio.Event)


class FeedWatch:
    """The followers of one process, which has one event loop. Nobody looks while nobody waits."""

    def __init__(self, databases: DatabasePool, max_followers: int = MAX_FOLLOWERS) -> None:
        self._databases = databases
        self._max_followers = max_followers
        self._waiters: set[_Waiter] = set()
        self._looking: asyncio.Task[None] | None = None
        self._query_ended: asyncio.Event | None = None
        self._followers = 0

    @asynccontextmanager
    async def follow(self) -> AsyncIterator[None]:
        """Count a follower until the block ends. TooManyFollowers when there is no room for it.

        The last one waits for the end of the query under way, so that none runs while a sandbox is frozen.
        """
        if self._followers >= self._max_followers:
            raise TooManyFollowers(retry_after=_RETRY_AFTER)
        self._followers += 1
        try:
            yield
        finally:
            self._followers -= 1
            if not self._followers and self._query_ended:
                with anyio.CancelScope(shield=True):
                    await self._query_ended.wait()

    async def wait(self, tenant_id: UUID, session_id: UUID, number: int, seconds: float) -> int:
        """Return the number of the session's newest event once it is above `number`; else `number`, after `seconds`."""
        now = asyncio.get_running_loop().time()
        waiter = _Waiter(tenant_id, session_id, number, now, now + LOOK_INTERVAL)
        self._waiters.add(waiter)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(waiter.has_news.wait(), seconds)
        finally:
            self._waiters.discard(waiter)
        return waiter.number

    async def _look(self) -> None:
        """Look for those who wait, until nobody does."""
        try:
            await asyncio.sleep(LOOK_INTERVAL)
            while self._waiters:
                now = asyncio.get_running_loop().time()
                due = [waiter for waiter in self._waiters if waiter.next_look <= now]
                is_done = await self._look_once(due) if due else True
                for waiter in due:
                    pause = (now - waiter.since) * _SHARE_OF_SILENCE
                    waiter.next_look = now + min(max(pause, LOOK_INTERVAL), MAX_LOOK_INTERVAL)
                await asyncio.sleep(LOOK_INTERVAL if is_done else _PAUSE_AFTER_FAILURE)
        finally:
            self._looking = None

    async def _look_once(self, waiters: Sequence[_Waiter]) -> bool:
        """Wake the waiters whose sessions have news. Return False when the database could not be read."""
        self._query_ended = ended = asyncio.Event()
        try:
            newest = await run_in_threadpool(self._read_newest, waiters)
        except ParlourError as problem:
            log.warning("feeds_not_read", code=problem.code)
            return False
        except Exception as problem:  # noqa: BLE001 - a look that fails must not end those after it
            log.error("feeds_not_read", problem)
            return False
        finally:
            ended.set()
        for waiter in waiters:
            number = newest.get((waiter.tenant_id, waiter.session_id), 0)
            if number > waiter.number:
                waiter.number = number
                waiter.has_news.set()
        return True

    def _read_newest(self, waiters: Iterable[_Waiter]) -> Mapping[tuple[UUID, UUID], int]:
        """Return the number of the newest event, by tenant and session. One transaction for each tenant."""
        sessions: dict[UUID, set[UUID]] = defaultdict(set)
        for waiter in waiters:
            sessions[waiter.tenant_id].add(waiter.session_id)
        newest: dict[tuple[UUID, UUID], int] = {}
        with self._databases.borrow() as database:
            for tenant_id, session_ids in sessions.items():
                with database.transaction(tenant_id) as tx:
                    found = event_feed.find_newest_numbers(tx, session_ids)
                newest |= {(tenant_id, session_id): number for session_id, number in found.items()}
        return newest


def get_feed_watch(request: Request) -> FeedWatch:
    """Return the watch of the app."""
    found: FeedWatch = request.app.state.feed_watch
    return found
