import threading
import time
from collections.abc import Callable, Generator

import pytest

from parlour.infra.errors import ProviderUnavailable
from parlour.models.model import Waiting
from parlour.models.stream_timeouts import StreamTimeouts, stream_within

LONG = 30.0


def is_token(item: str) -> bool:
    return item != "ping"


def listen(first_token: float, total: float, source: Callable[[], Generator[str]]) -> list[str | Waiting]:
    heard = stream_within(StreamTimeouts(first_token, total), source, is_token)
    return list(heard)


def test_items_come_through_in_order() -> None:
    def source() -> Generator[str]:
        yield from ("a", "b", "c")

    assert listen(LONG, LONG, source) == ["a", "b", "c"]


def test_errors_of_the_source_are_raised_to_the_listener() -> None:
    def source() -> Generator[str]:
        yield "a"
        raise LookupError("broken")

    heard = stream_within(StreamTimeouts(LONG, LONG), source, is_token)

    assert next(heard) == "a"
    with pytest.raises(LookupError, match="broken"):
        next(heard)


def test_keep_alives_do_not_count_as_a_first_token() -> None:
    def source() -> Generator[str]:
        for _ in range(200):
            yield "ping"
            time.sleep(0.02)

    began = time.monotonic()
    with pytest.raises(ProviderUnavailable, match=r"within 0\.2 s"):
        listen(0.2, LONG, source)
    assert time.monotonic() - began < 3


def test_after_the_first_token_only_the_whole_counts() -> None:
    def source() -> Generator[str]:
        yield "a"
        time.sleep(0.8)
        yield "b"

    parts = listen(0.5, LONG, source)
    assert [part for part in parts if part != Waiting()] == ["a", "b"]
    assert Waiting() in parts[1:-1], "the caller can look at other things while the source is silent"


def test_the_whole_is_cut_off_too() -> None:
    def source() -> Generator[str]:
        while True:
            yield "a"
            time.sleep(0.02)

    with pytest.raises(ProviderUnavailable):
        listen(LONG, 0.2, source)


def test_the_source_is_closed_when_nobody_listens_any_more() -> None:
    closed = threading.Event()

    def source() -> Generator[str]:
        try:
            while True:
                yield "a"
                time.sleep(0.01)
        finally:
            closed.set()

    heard = stream_within(StreamTimeouts(LONG, LONG), source, is_token)
    next(heard)
    heard.close()  # type: ignore[attr-defined]

    assert closed.wait(5)
