"""Being told to stop, at any moment: Ctrl-C, a closed terminal, `kill`."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopRequested(BaseException):
    """Somebody asked the stack to stop. Not an Exception, so that nothing takes it for a failure."""


class StopSignals:
    """Turns the three signals into `Stopped`, but not while something must not be cut in two.

    Use as a context manager around the stack's whole life. Inside `held` a signal is remembered and raised at
    the end of the block: a process that was just started is always one that we know of.
    """

    def __init__(self) -> None:
        self._deferred_count = 0
        self._pending = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "StopSignals":
        self._before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """A block that is finished before anybody's wish to stop is heard."""
        self._deferred_count += 1
        try:
            yield
        finally:
            self._deferred_count -= 1
        self._raise_pending()

    def ignore(self) -> None:
        """From now on we are stopping already: asking again changes nothing."""
        self._deferred_count += 1

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        self._pending = True
        self._raise_pending()

    def _raise_pending(self) -> None:
        if self._pending and not self._deferred_count:
            self._pending = False
            raise StopRequested
