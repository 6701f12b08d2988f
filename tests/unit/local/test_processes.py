"""Processes are known from their first moment and gone at the end, with everything they started."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local.errors import StackError
from local.interrupts import StopRequested, StopSignals
from local.processes import ProcessGroup

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
FAMILY = [
    sys.executable,
    "-c",
    "import subprocess, sys, time\n"
    "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'], start_new_session=True)\n"
    "print(child.pid, flush=True); time.sleep(60)",
]
STUBBORN = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)",
]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[ProcessGroup]:
    processes = ProcessGroup(tmp_path, StopSignals())
    yield processes
    processes.stop()


def said(log: Path) -> str:
    until = time.monotonic() + 10
    while not log.read_text() and time.monotonic() < until:
        time.sleep(0.02)
    return log.read_text().strip()


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def test_stopping_ends_what_a_child_started_even_in_a_session_of_its_own(processes: ProcessGroup) -> None:
    child = processes.start("family", FAMILY, {})
    grandchild = int(said(child.log))
    processes.stop()
    assert gone(child.process.pid)
    assert gone(grandchild)


def test_one_that_will_not_leave_is_killed(processes: ProcessGroup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("local.processes._TERMINATE_SECONDS", 0.3)
    child = processes.start("stubborn", STUBBORN, {})
    said(child.log)
    processes.stop()
    assert gone(child.process.pid)


def test_a_child_that_ends_by_itself_is_noticed(processes: ProcessGroup) -> None:
    processes.start("steady", SLEEP, {})
    child = processes.start("hasty", [sys.executable, "-c", "raise SystemExit(3)"], {})
    child.process.wait(10)
    assert processes.find_ended() == child


def test_a_child_that_cannot_start_is_told_in_one_line_with_its_last_words(processes: ProcessGroup) -> None:
    child = processes.start("phone", [sys.executable, "-c", "raise SystemExit('the port is taken')"], {})
    with pytest.raises(StackError, match="phone stopped during start-up: the port is taken"):
        processes.wait_until_ready(child, lambda: False, 10)


def test_a_child_that_is_never_ready_is_given_up(processes: ProcessGroup) -> None:
    child = processes.start("slow", SLEEP, {})
    with pytest.raises(StackError, match="slow was not ready within 0 s"):
        processes.wait_until_ready(child, lambda: False, 0.1)


def test_what_a_killed_supervisor_left_is_swept_up_by_the_next(tmp_path: Path) -> None:
    lost = ProcessGroup(tmp_path, StopSignals()).start("lost", SLEEP, {})
    assert ProcessGroup(tmp_path, StopSignals()).stop_leftovers() == 1
    lost.process.wait(10)
    assert ProcessGroup(tmp_path, StopSignals()).stop_leftovers() == 0


def test_a_number_that_now_belongs_to_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "processes.json").write_text(f"[[{os.getpid()}, 12345.0]]")
    assert ProcessGroup(tmp_path, StopSignals()).stop_leftovers() == 0


def test_a_wish_to_stop_waits_for_what_must_not_be_cut_in_two() -> None:
    finished: list[str] = []

    def work() -> None:
        with interrupts.deferred():
            os.kill(os.getpid(), signal.SIGTERM)
            finished.append("start and write down")

    with StopSignals() as interrupts, pytest.raises(StopRequested):
        work()
    assert finished == ["start and write down"]


def test_a_second_wish_to_stop_does_not_disturb_the_stopping() -> None:
    with StopSignals() as interrupts:
        with pytest.raises(StopRequested):
            os.kill(os.getpid(), signal.SIGINT)
        interrupts.ignore()
        os.kill(os.getpid(), signal.SIGINT)
