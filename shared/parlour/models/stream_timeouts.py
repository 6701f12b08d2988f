"""Listening to a slow source without ever waiting for it longer than was agreed."""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event, Thread

from parlour.infra.errors import ProviderUnavailable
from parlour.models.model import Waiting

FIRST_TOKEN_TIMEOUT_SECONDS = 8.0

_PAUSE_SECONDS = 0.05
"""How long the source may be silent before the caller may look at other things."""

_MARGIN_SECONDS = 2.0
"""Kept back from the invocation, for writing down what came of the call."""


@dataclass(frozen=True, slots=True)
class StreamTimeouts:
    """How long to wait, in seconds: for the first token, and for the whole answer."""

    first_token: float
    total: float


def stream_timeouts(first_token: float, seconds_left: float) -> StreamTimeouts:
    """How long to wait when the invocation has `seconds_left`; ProviderUnavailable when that is no time."""
    whole = seconds_left - _MARGIN_SECONDS
    if whole <= 0:
        raise ProviderUnavailable("no time is left for a model call; the turn will be tried again")
    return StreamTimeouts(first_token, whole)


@dataclass(frozen=True, slots=True)
class _Item[T]:
    value: T


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None


def stream_within[T](
    timeouts: StreamTimeouts, source: Callable[[], Generator[T]], is_content: Callable[[T], bool]
) -> Iterator[T | Waiting]:
    """Yield the items of `source`, which runs in a thread of its own, and a pause 20 times a second while it is silent.

    The exceptions of the source are raised here.

    ProviderUnavailable when no content item came in time, or the whole took too long. A read timeout of the HTTP client
    promises neither: every keep-alive byte restarts it, and DNS lookups have none. When the caller stops listening, the
    source is closed as soon as it yields again.
    """
    inbox: SimpleQueue[_Item[T] | _End] = SimpleQueue()
    gone = Event()
    Thread(target=_run_source, args=(source, inbox, gone), name="model-stream", daemon=True).start()
    started = time.monotonic()
    limit = min(timeouts.first_token, timeouts.total)
    try:
        while True:
            arrival = _next_item(inbox, started + limit - time.monotonic(), limit)
            if isinstance(arrival, Waiting):
                yield arrival
                continue
            if isinstance(arrival, _End):
                if arrival.error:
                    raise arrival.error
                return
            if is_content(arrival.value):
                limit = timeouts.total
            yield arrival.value
    finally:
        gone.set()


def _next_item[T](inbox: SimpleQueue[_Item[T] | _End], seconds: float, limit: float) -> _Item[T] | _End | Waiting:
    try:
        return inbox.get(timeout=max(0, min(seconds, _PAUSE_SECONDS)))
    except Empty:
        if seconds > _PAUSE_SECONDS:
            return Waiting()
        raise ProviderUnavailable(f"the model did not answer within {limit:.1f} s") from None


def _run_source[T](
    source: Callable[[], Generator[T]], inbox: SimpleQueue[_Item[T] | _End], is_abandoned: Event
) -> None:
    try:
        with closing(source()) as items:
            for item in items:
                if is_abandoned.is_set():
                    return
                inbox.put(_Item(item))
        inbox.put(_End(None))
    except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the thread that is listening
        inbox.put(_End(error))
