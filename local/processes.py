"""The processes of one stack: started with a log each, watched, and stopped with all their children."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from local.interrupts import Interrupts
from local.problems import StackProblem
from local.state import ROOT

_PATIENCE_SECONDS = 8.0
"""How long a process may take to leave after SIGTERM before it is killed."""

_LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class Child:
    """One process that we started, the leader of a session of its own."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    def last_words(self) -> str:
        """The end of its log, on one line."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return " | ".join(lines[-_LAST_LINES:]) or "it said nothing"


class Processes:
    """Starts and stops the children of one stack.

    Each child is written down on disk with its start time, so that a supervisor which was killed outright
    leaves nothing behind for good: the next one sweeps up exactly those processes.
    """

    def __init__(self, folder: Path, interrupts: Interrupts) -> None:
        self._logs = folder / "logs"
        self._journal = folder / "processes.json"
        self._interrupts = interrupts
        self._children: list[Child] = []
        self._logs.mkdir(parents=True, exist_ok=True)

    def sweep(self) -> int:
        """Stop what an earlier supervisor started and could not stop; returns how many there were."""
        left = [process for pid, started in self._written() if (process := _same(pid, started))]
        _end([child for process in left for child in [process, *process.children(recursive=True)]])
        self._journal.unlink(missing_ok=True)
        return len(left)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> Child:
        """Run `command` with nothing but `environment`; its output goes to logs/<name>.log."""
        log = self._logs / f"{name}.log"
        with self._interrupts.held(), log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._children.append(Child(name, process, log))
            self._write_down()
        return self._children[-1]

    def wait_for(self, child: Child, ready: Callable[[], bool], seconds: float) -> None:
        """Return when `ready`; StackProblem when the process ends or the time is over first."""
        until = time.monotonic() + seconds
        while not ready():
            if not child.running:
                raise StackProblem(f"{child.name} stopped at once: {child.last_words()} (all of it: {child.log})")
            if time.monotonic() > until:
                raise StackProblem(f"{child.name} was not ready within {seconds:.0f} s: look at {child.log}")
            time.sleep(0.05)

    def fallen(self) -> Child | None:
        """A child that has ended though nobody asked it to, if there is one."""
        return next((child for child in self._children if not child.running), None)

    def stop(self) -> None:
        """End every child and whatever it started, all at the same time."""
        families = [process for child in reversed(self._children) for process in _family(child.process.pid)]
        _end(families)
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(timeout=1)
        self._children.clear()
        self._journal.unlink(missing_ok=True)

    def _write_down(self) -> None:
        started = []
        for pid in (child.process.pid for child in self._children):
            with suppress(psutil.NoSuchProcess):
                started.append([pid, psutil.Process(pid).create_time()])
        self._journal.write_text(json.dumps(started))

    def _written(self) -> list[tuple[int, float]]:
        try:
            return [(int(pid), float(started)) for pid, started in json.loads(self._journal.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []


def _same(pid: int, started: float) -> psutil.Process | None:
    """The process, if it is still the one that was started then: numbers are used again."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - started) < 1:
            return process
    return None


def _family(pid: int) -> list[psutil.Process]:
    """The process and all it started, also those that made themselves independent."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _end(processes: Sequence[psutil.Process]) -> None:
    """SIGTERM, patience, SIGKILL."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(processes, timeout=_PATIENCE_SECONDS)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=_PATIENCE_SECONDS)
