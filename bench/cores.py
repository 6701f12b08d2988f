"""The cores on which a benchmark's worker and its connections' backends run."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from parlour.infra.postgres import Database
from parlour.infra.queries import Query

_BACKEND = Query("bench.backend", "The process that serves this connection.", "SELECT pg_backend_pid()")


@contextmanager
def held(database: Database) -> Iterator[None]:
    """Hold this thread and its first connection's backend to one core, and the second connection's to another, where
    the machine has two and can be told.

    Worker and first connection wait for each other in turn, so they lose nothing by it. Left to Linux, the first
    connection's backend is often put behind the second's, with the worker's core idle: one to two milliseconds of a
    turn that a database on a machine of its own does not have.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        yield
        return
    placed = {0: cores[0], _backend(database): cores[0], _backend(database.beside): cores[1]}
    try:
        for process, core in placed.items():
            os.sched_setaffinity(process, {core})
        yield
    finally:
        for process in placed:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(process, cores)


def _backend(database: Database) -> int:
    with database.transaction(None) as tx:
        return int(tx.value(_BACKEND))
