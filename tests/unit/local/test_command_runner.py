"""A long command is listened to, explained when it fails, and ended when its caller is told to stop."""

import sys
import time
from pathlib import Path

import psutil
import pytest

from local.command_runner import run_command
from local.errors import StackError

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}


def python(text: str) -> list[str | Path]:
    return [sys.executable, "-c", text]


def test_what_it_says_is_kept_and_what_it_is_at_is_passed_on(tmp_path: Path) -> None:
    said: list[str] = []
    run_command(
        python("print('noise'); print('Building layer x')"), ENVIRONMENT, tmp_path / "logs" / "log", said.append
    )
    assert said == ["Building layer x"]
    assert (tmp_path / "logs" / "log").read_text() == "noise\nBuilding layer x\n"


def test_a_failure_is_told_by_the_line_that_says_why(tmp_path: Path) -> None:
    text = "print('Error: no such bucket'); print('see the documentation'); raise SystemExit(1)"
    with pytest.raises(StackError, match=r"failed: Error: no such bucket \(full log: .*log\)"):
        run_command(python(text), ENVIRONMENT, tmp_path / "log", lambda _: None)


def test_it_sees_the_environment_it_is_given(tmp_path: Path) -> None:
    run_command(python("import os; print(sorted(os.environ))"), {"ONE": "1"}, tmp_path / "log", lambda _: None)
    assert "ONE" in (tmp_path / "log").read_text()
    assert "PATH" not in (tmp_path / "log").read_text()


def test_it_ends_with_all_its_children_when_the_caller_is_stopped(tmp_path: Path) -> None:
    """The listener raises, as a signal's handler would."""
    text = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])\n"
        "print(f'Waiting for {child.pid}', flush=True)\ntime.sleep(300)\n"
    )
    said: list[str] = []

    def stop(line: str) -> None:
        said.append(line)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_command(python(text), ENVIRONMENT, tmp_path / "log", stop)
    until = time.monotonic() + 10
    while _runs(int(said[0].split()[-1])) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(int(said[0].split()[-1]))


def _runs(number: int) -> bool:
    return psutil.pid_exists(number) and psutil.Process(number).status() != psutil.STATUS_ZOMBIE
