"""The cores on which a benchmark's worker and its connections' backends run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from parlour.infra.postgres import Database
from parlour.infra.queries import Query

AS_PLACED = "processes as the machine places them"
_HELD = "processes held to their cores"

_IDLING = """
import os, pathlib, time
os.sched_setaffinity(0, {{{core}}})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
group = pathlib.Path("/proc/self/autogroup")
for _ in range(5):
    try:
        if group.exists():
            group.write_text("19")
        break
    except BlockingIOError:
        time.sleep(0.12)
else:
    raise SystemExit
print("awake", flush=True)
while os.getppid() == {parent}:
    for _ in range(100_000):
        pass
"""
"""What runs where nobody else wants to, for as long as the benchmark does.

An idle priority holds among the processes of one session (`autogroup`, sched(7)), and the database's are another. So it
is a session of its own, with the least weight among sessions; Linux takes that ten times a second from all but root.
Else a backend waits its turn behind it, four milliseconds.
"""

_BACKEND = Query("bench.backend", "The process that serves this connection.", "SELECT pg_backend_pid()")


@contextmanager
def held(database: Database) -> Iterator[str]:
    """Hold this thread and its first connection's backend to one core, and the second connection's to another that is
    kept awake where that is allowed. Yields in words what was done of it: nothing on one core, or without Linux.
    PermissionError where the backends are somebody else's.

    Worker and first connection wait for each other in turn, so they lose nothing by it. Left to Linux, the first
    connection's backend is often put behind the second's, with the worker's core idle: one to two milliseconds of a
    turn that a database on a machine of its own does not have. Nor does that one fall asleep between two turns: a
    virtual core that did runs at two thirds of its speed for the first milliseconds.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        yield AS_PLACED
        return
    placed = {0: cores[0], _backend(database): cores[0], _backend(database.beside): cores[1]}
    try:
        for process, core in placed.items():
            os.sched_setaffinity(process, {core})
        with _awake(cores[1]) as is_awake:
            yield _HELD if is_awake else f"{_HELD}, which may fall asleep"
    finally:
        for process in placed:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(process, cores)


@contextmanager
def _awake(core: int) -> Iterator[bool]:
    """Keep a core from sleeping by what runs there when nothing else does. Whether that is allowed here."""
    if not hasattr(os, "SCHED_IDLE"):
        yield False
        return
    command = [sys.executable, "-c", _IDLING.format(core=core, parent=os.getpid())]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
    ) as running:
        try:
            yield running.stdout is not None and running.stdout.readline() == "awake\n"
        finally:
            running.terminate()


def _backend(database: Database) -> int:
    with database.transaction(None) as tx:
        return int(tx.value(_BACKEND))
