"""How the worker that runs a turn learns that it is to end (docs/decisions/0061).

The request is a column of the turn. The worker reads it with every write of the turn and, in between, four times a
second while a model or a tool outside of Parlour is waited for. The turn then ends with what it has.
"""

import threading
import time
from collections.abc import Callable

from parlour.conversations.rows import StopCause
from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.tools.cancellable_connection import CancellableConnection

#: Between two looks into the database. With the pauses of streams and reads, a stop takes less than half a second.
_LOOK_SECONDS = 0.25

_PAUSE_SECONDS = 0.05
"""Between two looks at a read that runs, and the longest piece of a pause between two attempts."""

_SECONDS_AFTER_ERROR = 1.0
"""How long a database is left alone that did not answer."""


class TurnStop:
    """Whether a running turn is to end now. Belongs to the thread that runs the turn.

    cause  why it is to end, as far as it is known; None: it goes on.
    """

    def __init__(self, find_cause: Callable[[], StopCause | None], clock: Callable[[], float] = time.monotonic) -> None:
        """`find_cause` reads the turn's row, in a transaction of its own."""
        self._find_cause = find_cause
        self._clock = clock
        self._next_look = clock() + _LOOK_SECONDS
        self.cause: StopCause | None = None

    def record(self, cause: StopCause | None) -> None:
        """Take what a write of the turn has read of its row."""
        self.cause = self.cause or cause
        self._next_look = self._clock() + _LOOK_SECONDS

    def is_requested(self) -> bool:
        """Whether somebody wants the turn to end; for who waits. Reads the row, at most every 250 milliseconds."""
        if self.cause is None and self._clock() >= self._next_look:
            try:
                self.record(self._find_cause())
            except RetryError as problem:
                self._next_look = self._clock() + _SECONDS_AFTER_ERROR
                log.warning("stop_not_read", code=problem.code)
        return self.cause is not None

    def sleep(self, seconds: float, sleep: Callable[[float], None]) -> None:
        """Sleep in short pieces, no longer than until a stop."""
        while seconds > 0 and not self.is_requested():
            sleep(min(seconds, _PAUSE_SECONDS))
            seconds -= _PAUSE_SECONDS

    def run_read[R](self, read: Callable[[], R], connection: CancellableConnection, *, if_stopped: R) -> R:
        """Return what `read` returns, from a thread of its own; at a stop cut its connection and return `if_stopped`.

        A read that cannot be cut ends by itself and nobody uses its result. It must not use the turn's database.
        """
        outcome: list[R] = []
        problem: list[BaseException] = []
        ended = threading.Event()

        def run() -> None:
            try:
                outcome.append(read())
            except BaseException as error:  # noqa: BLE001 - it is raised again in the thread that waits
                problem.append(error)
            finally:
                ended.set()

        threading.Thread(target=run, name="turn_read", daemon=True).start()
        while not ended.wait(_PAUSE_SECONDS):
            if self.is_requested():
                connection.cancel()
                return if_stopped
        if problem:
            raise problem[0]
        return outcome[0]
