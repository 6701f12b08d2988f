"""A session's events as server-sent events: they are read when the watch of the feeds has seen new ones.

A reader resumes with `Last-Event-ID`, so that ending a stream is always harmless.
"""

import time
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import anyio
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from parlour.api.event_schemas import Event, event_to_json
from parlour.api.feed_watch import get_feed_watch
from parlour.infra import log
from parlour.infra.errors import ParlourError

_RETRY_FRAME = "retry: 1000\n\n"
KEEP_ALIVE_FRAME = ": still here\n\n"
_RECORD_STATE = "entity_patch"
"""The kind of event that says how a record is stored now."""

_PROGRESS_KINDS = frozenset({"agent_state", "context_usage"})
"""The kinds of events that a later one of the same kind replaces."""


@dataclass(frozen=True, slots=True)
class StreamTiming:
    """Seconds: until a follower is awake without new events, of silence before a comment keeps the line open, and until
    the stream ends.

    after_done: in which another turn may follow one that is done.
    max_idle:   of silence after which a stream without an open turn ends.
    """

    max_wait: float = 1.0
    after_done: float = 0.12
    keep_alive: float = 15.0
    max_seconds: float = 300.0
    max_idle: float = 20.0


#: How long a client may leave a piece of a stream unread before its connection is closed.
MAX_SEND_SECONDS = 30.0

LIVE_TIMING = StreamTiming()
"""Where bytes leave as they are written: under a web server."""


def is_response_buffered(request: Request) -> bool:
    """Whether the response will leave as a whole: behind API Gateway, where Mangum leaves its event in the scope."""
    return "aws.event" in request.scope


class EventStreamResponse(StreamingResponse):
    """A follower's response: refused where too many follow, and given up when the client reads no more.

    What a client does not read waits in the buffers of its connection, and in the events of one look. `on_end` is
    called once, on a thread, however the stream ends.
    """

    media_type = "text/event-stream"

    def __init__(
        self, content: AsyncIterable[str], on_end: Callable[[], None] = lambda: None, status_code: int = 200
    ) -> None:
        """Respond with `content`; the API's description reads the status off this signature."""
        super().__init__(content, status_code)
        self._on_end = on_end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            with anyio.fail_after(MAX_SEND_SECONDS):
                await send(message)

        try:
            async with get_feed_watch(Request(scope)).follow():
                await super().__call__(scope, receive, send_in_time)
        except (TimeoutError, ClientDisconnect):
            log.warning("follower_dropped")
        finally:
            with anyio.CancelScope(shield=True):
                await run_in_threadpool(self._on_end)


@dataclass(slots=True)
class EventReader:
    """One reader's place in a session's feed.

    has_open_turn  whether events are still to come, because a turn is open.
    wait_after     (number, seconds) -> the newest number, as soon as it is above the given one, or after the seconds.
    is_finished    a turn was done, and at the next look nothing had followed it.
    saw_done       the newest event ends a turn.
    """

    read_after: Callable[[int], Sequence[Event]]
    number: int
    has_open_turn: Callable[[], bool]
    wait_after: Callable[[int, float], Awaitable[int]]
    is_finished: bool = field(default=False, init=False)
    saw_done: bool = field(default=False, init=False)

    def read_new(self) -> Sequence[Event]:
        """Return the events since the last look."""
        events = self.read_after(self.number)
        if events:
            self.number, self.saw_done = events[-1].number, events[-1].kind == "done"
        else:
            self.is_finished = self.saw_done
        return drop_replaced_states(events)


def drop_replaced_states(events: Sequence[Event]) -> Sequence[Event]:
    """Without progress and states of records that a later event replaces: a reader who fell behind gets the newest. All
    else stays, text and results of tools above all."""
    newest = {key: event.number for event in events if (key := _replaced_key(event))}
    return [event for event in events if newest.get(_replaced_key(event), event.number) == event.number]


def _replaced_key(event: Event) -> tuple[object, ...]:
    """Return what a later event of the same key replaces; () for an event that stays."""
    if event.kind == _RECORD_STATE:
        return event.kind, event.payload.get("entity_id")
    return (event.kind,) if event.kind in _PROGRESS_KINDS else ()


async def stream_events(
    reader: EventReader, timing: StreamTiming, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[str]:
    """Yield the stream's text, until the newest turn is done, nothing happens, or the longest time is over.

    A thread and a connection are used only while there is something to read: many clients may listen at once.
    """
    yield _RETRY_FRAME
    begun = quiet_since = idle_since = clock()
    seen, newest = reader.number - 1, reader.number
    while not reader.is_finished and clock() - begun < timing.max_seconds:
        events: Sequence[Event] = ()
        try:
            if reader.saw_done or newest > seen:
                events = await run_in_threadpool(reader.read_new)
                # After an empty read, all up to `newest` is hidden from this reader.
                seen = reader.number if events else max(reader.number, newest)
            if not events and clock() - idle_since >= timing.max_idle:
                if not await run_in_threadpool(reader.has_open_turn):
                    return
                idle_since = clock()
        except ParlourError as problem:
            log.warning("stream_ended", code=problem.code)
            return
        if events:
            quiet_since = idle_since = clock()
            for event in events:
                yield to_sse_frame(event)
        elif clock() - quiet_since >= timing.keep_alive:
            quiet_since = clock()
            yield KEEP_ALIVE_FRAME
        newest = await reader.wait_after(seen, timing.after_done if reader.saw_done else timing.max_wait)


def to_sse_frame(event: Event) -> str:
    """One event on the wire: its number as the id to resume from, its kind, and the whole of it as JSON."""
    return f"id: {event.number}\nevent: {event.kind}\ndata: {event_to_json(event).decode()}\n\n"
