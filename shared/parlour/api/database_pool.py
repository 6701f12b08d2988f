"""Databases to rent: a connection belongs to one thread at a time, and endpoints run on many."""

import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from parlour.infra.postgres import Database

type Application = Callable[..., Awaitable[None]]
"""An ASGI application."""

_MAX_IDLE = 8
"""Idle connections that are kept: what a few people at work on a laptop use at once."""


class DatabasePool:
    """Rents out databases, the one that came back last first, and opens another when none is idle.

    `kept` is how many idle ones stay open; 0 closes each when it comes back, which lets a database pause.
    """

    def __init__(self, open_database: Callable[[], Database], max_idle: int = _MAX_IDLE) -> None:
        self._open = open_database
        self._kept = max_idle
        self._idle: list[Database] = []
        self._lock = threading.Lock()

    @contextmanager
    def borrow(self) -> Iterator[Database]:
        """Lend a database that nobody else uses until the block ends."""
        with self._lock:
            database = self._idle.pop() if self._idle else self._open()
        try:
            yield database
        finally:
            with self._lock:
                room = len(self._idle) < self._kept
                if room:
                    self._idle.append(database)
            if not room:
                database.close()

    def close(self) -> None:
        """Let go of every idle connection."""
        with self._lock:
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()


def close_after_responses(application: Application, databases: DatabasePool) -> Application:
    """Return the application; idle connections are closed after each of its responses, so that a database may pause."""

    async def answer(*asgi: Any) -> None:
        try:
            await application(*asgi)
        finally:
            databases.close()

    return answer
