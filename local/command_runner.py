"""Commands that take a while: what they say is kept and passed on, and they end when we are told to stop."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from local.errors import StackError
from local.state import ROOT

type ProgressCallback = Callable[[str], None]

_PROGRESS_PREFIXES = ("Building ", "Uploading ", "Waiting ")
"""Beginnings of lines that say what a command is at."""


def run_command(
    command: Sequence[str | Path], environment: Mapping[str, str], log: Path, report_progress: ProgressCallback
) -> None:
    """Run it in the clone; all it prints goes to `log`. StackProblem with its own reason when it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        status, lines = _run_and_listen(command, environment, output.write, report_progress)
    if status:
        raise StackError(f"{Path(command[0]).name} {command[1]} failed: {_failure_reason(lines)} (full log: {log})")


def _run_and_listen(
    command: Sequence[str | Path], environment: Mapping[str, str], write: Callable[[str], object], say: ProgressCallback
) -> tuple[int, list[str]]:
    """The exit status, and the lines that were printed."""
    lines = []
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            for line in process.stdout or ():
                write(line)
                lines.append(line.strip())
                if line.startswith(_PROGRESS_PREFIXES):
                    say(line.strip())
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            raise
    return process.returncode, lines


def _failure_reason(lines: Sequence[str]) -> str:
    """The line that says why; CloudFormation's own where there is one."""
    said = [line for line in lines if line]
    telling = [line for line in said if line.startswith(("Error", "Build Failed")) or "FAILED" in line]
    return (telling or said or ["no output"])[-1]
