"""The line to whoever carries out a call: it may be hung up from another thread, when nobody waits any more."""

import threading
from collections.abc import Callable


class Line:
    """One call's connection. An endpoint says how to cut it; `hang_up` does so, now or as soon as that is known."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cut: Callable[[], None] | None = None
        self._hung_up = False

    @property
    def is_hung_up(self) -> bool:
        """Whether the call was given up: what is not begun by then is not begun any more."""
        return self._hung_up

    def opened(self, cut: Callable[[], None]) -> None:
        """A connection is open, and `cut` ends it at once; it must be safe to call from any thread."""
        with self._lock:
            self._cut = cut
            late = self._hung_up
        if late:
            cut()

    def hang_up(self) -> None:
        """Give the call up. Safe to call twice."""
        with self._lock:
            self._hung_up = True
            cut = self._cut
        if cut:
            cut()
