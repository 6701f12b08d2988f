"""What an invocation takes in its worker: seconds, and the memory of the function and of what it starts."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

_LOOK_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class Metered:
    """What the handler answered, and what that took: seconds, and megabytes at the most."""

    answer: Any
    seconds: float
    child: float
    worker: float


@dataclass(frozen=True, slots=True)
class Meter:
    """Put around a handler in its worker; `child` is the largest of the processes that it starts. Linux only."""

    needs_cold_worker: bool = False

    def __call__(self, call: Callable[[], Any], /) -> Metered:
        most, done = [0.0], threading.Event()
        own = psutil.Process()
        _forget_peak()

        def watch() -> None:
            while not done.wait(_LOOK_SECONDS):
                with suppress(psutil.Error, OSError):
                    most[0] = max([most[0], *(_peak(child.pid) for child in own.children())])

        watching = threading.Thread(target=watch)
        watching.start()
        begun = time.monotonic()
        try:
            answer = call()
        finally:
            seconds = time.monotonic() - begun
            done.set()
            watching.join()
        return Metered(answer, seconds, most[0], _peak(own.pid))


def _peak(pid: int) -> float:
    """A process's most resident memory since it began to run its program, or since that was forgotten. What the system
    tells of children that have ended counts their parent's memory too."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
