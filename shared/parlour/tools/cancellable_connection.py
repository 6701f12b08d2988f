"""The line to whoever carries out a call: it may be hung up from another thread, when nobody waits any more."""

import threading
from collections.abc import Callable


class CancellableConnection:
    """One call's connection, which can be cut.

    An endpoint attaches how to close it; `cancel` does so, now or as soon as it is attached.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._close: Callable[[], None] | None = None
        self._is_cancelled = False

    @property
    def is_cancelled(self) -> bool:
        """Whether the call was given up: what is not begun by then is not begun any more."""
        return self._is_cancelled

    def attach(self, close: Callable[[], None]) -> None:
        """Attach how to end the open connection at once; `close` must be safe to call from any thread."""
        with self._lock:
            self._close = close
            late = self._is_cancelled
        if late:
            close()

    def cancel(self) -> None:
        """Give the call up. Safe to call twice."""
        with self._lock:
            self._is_cancelled = True
            cut = self._close
        if cut:
            cut()
