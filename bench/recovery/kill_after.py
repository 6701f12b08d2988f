"""The death of a worker in the middle of its work. A module of its own: every worker imports it."""

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_has_worked = threading.Event()
"""In a worker: whether it has handled a message before, and so is warm."""


@dataclass(frozen=True, slots=True)
class KillAfter:
    """Kills its own process some seconds after the handler was called, if it is still at work then.

    A cold worker is spared: its start is Lambda's, and a message is killed in its work and not before.
    """

    seconds: float
    needs_cold_worker: bool = False

    def __call__(self, call: Callable[[], Any]) -> Any:
        timer = threading.Timer(self.seconds, os.kill, (os.getpid(), signal.SIGKILL))
        timer.daemon = True
        if self.seconds and _has_worked.is_set():
            timer.start()
        try:
            return call()
        finally:
            timer.cancel()
            _has_worked.set()
