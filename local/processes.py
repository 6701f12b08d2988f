"""The processes of one stack: started with a log each, watched, and stopped with all their children."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from local.errors import StackError
from local.interrupts import StopSignals
from local.state import ROOT

_TERMINATE_SECONDS = 8.0
"""How long a process may take to leave after SIGTERM before it is killed."""

_LAST_LINES = 3


@dataclass(frozen=True, slots=True)
class ChildProcess:
    """One process that we started, the leader of a session of its own."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def is_running(self) -> bool:
        return self.process.poll() is None

    def last_log_lines(self) -> str:
        """The end of its log, on one line."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return " | ".join(lines[-_LAST_LINES:]) or "no output"


class ProcessGroup:
    """Starts and stops the children of one stack.

    Each child is written down on disk with its start time, so that a supervisor which was killed outright
    leaves nothing behind for good: the next one sweeps up exactly those processes.
    """

    def __init__(self, folder: Path, interrupts: StopSignals) -> None:
        self._logs = folder / "logs"
        self._journal = folder / "processes.json"
        self._interrupts = interrupts
        self._children: list[ChildProcess] = []
        self._logs.mkdir(parents=True, exist_ok=True)

    def stop_leftovers(self) -> int:
        """Stop what an earlier supervisor started and could not stop; returns how many there were."""
        left = [process for pid, started in self._read_journal() if (process := _find_process(pid, started))]
        _terminate([child for process in left for child in [process, *process.children(recursive=True)]])
        self._journal.unlink(missing_ok=True)
        return len(left)

    def start(self, name: str, command: Sequence[str], environment: Mapping[str, str]) -> ChildProcess:
        """Run `command` with nothing but `environment`; its output goes to logs/<name>.log."""
        log = self._logs / f"{name}.log"
        with self._interrupts.deferred(), log.open("wb") as output:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            self._children.append(ChildProcess(name, process, log))
            self._save_journal()
        return self._children[-1]

    def wait_until_ready(self, child: ChildProcess, is_ready: Callable[[], bool], seconds: float) -> None:
        """Return when `ready`; StackProblem when the process ends or the time is over first."""
        until = time.monotonic() + seconds
        while not is_ready():
            if not child.is_running:
                raise StackError(
                    f"{child.name} stopped during start-up: {child.last_log_lines()} (full log: {child.log})"
                )
            if time.monotonic() > until:
                raise StackError(f"{child.name} was not ready within {seconds:.0f} s: look at {child.log}")
            time.sleep(0.05)

    def find_ended(self) -> ChildProcess | None:
        """A child that has ended though nobody asked it to, if there is one."""
        return next((child for child in self._children if not child.is_running), None)

    def stop(self) -> None:
        """End every child and whatever it started, all at the same time."""
        families = [process for child in reversed(self._children) for process in _process_tree(child.process.pid)]
        _terminate(families)
        for child in self._children:
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(timeout=1)
        self._children.clear()
        self._journal.unlink(missing_ok=True)

    def _save_journal(self) -> None:
        started = []
        for pid in (child.process.pid for child in self._children):
            with suppress(psutil.NoSuchProcess):
                started.append([pid, psutil.Process(pid).create_time()])
        self._journal.write_text(json.dumps(started))

    def _read_journal(self) -> list[tuple[int, float]]:
        try:
            return [(int(pid), float(started)) for pid, started in json.loads(self._journal.read_text())]
        except (FileNotFoundError, ValueError, TypeError):
            return []


def _find_process(pid: int, started: float) -> psutil.Process | None:
    """The process, if it is still the one that was started then: numbers are used again."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        if abs(process.create_time() - started) < 1:
            return process
    return None


def _process_tree(pid: int) -> list[psutil.Process]:
    """The process and all it started, also those that made themselves independent."""
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _terminate(processes: Sequence[psutil.Process]) -> None:
    """SIGTERM, patience, SIGKILL."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, stubborn = psutil.wait_procs(processes, timeout=_TERMINATE_SECONDS)
    for process in stubborn:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(stubborn, timeout=_TERMINATE_SECONDS)
