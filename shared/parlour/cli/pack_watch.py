"""`parlour apply --watch`: call something whenever a file of the pack changed."""

from collections.abc import Callable, Iterator
from pathlib import Path

POLL_SECONDS = 0.5
"""A pack has some hundred files: looking at them takes milliseconds, on every system and network drive."""

type Fingerprint = frozenset[tuple[str, int, int]]


def list_changes(folder: Path, sleep: Callable[[float], None]) -> Iterator[None]:
    """Yield once now and then after every change, until the caller stops."""
    seen: Fingerprint | None = None
    while True:
        found = fingerprint(folder)
        if found != seen:
            yield
            seen = found
        else:
            sleep(POLL_SECONDS)


def fingerprint(folder: Path) -> Fingerprint:
    """Return path, time and size of every file that is not hidden; a file that vanishes meanwhile is left out."""
    found = set()
    for root, folders, names in folder.walk():
        folders[:] = [name for name in folders if not name.startswith((".", "__pycache__"))]
        for name in names:
            if name.startswith(".") and name != ".env":
                continue
            try:
                status = (root / name).stat()
            except OSError:
                continue
            found.add((str(root / name), status.st_mtime_ns, status.st_size))
    return frozenset(found)
