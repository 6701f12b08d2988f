"""One whole stack for these tests, in a folder and on ports of its own; it is taken down at the end."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import logs
from local.interrupts import StopSignals
from local.progress import Progress
from local.stack import RunningStack, StackOptions, run_stack
from local.stack_client import StackClient
from local.state import STATE_FOLDER, free_ports
from tests.end_to_end.world import World


@pytest.fixture(scope="session")
def stack() -> Iterator[RunningStack]:
    folder = STATE_FOLDER / f"end-to-end-{os.getpid()}"
    try:
        with run_stack(StackOptions(folder, free_ports()), Progress(), StopSignals()) as stack:
            yield stack
            said = [
                f"{one.at:%H:%M:%S} {one.function:<12} {one.text}\n"
                for one in logs.read_log_lines(stack.addresses.emulator)
            ]
            (folder / "logs" / "functions.log").write_text("".join(said), "utf-8")
    finally:
        _keep_logs(folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def world(stack: RunningStack) -> Iterator[World]:
    with StackClient(stack) as talk:
        yield World(stack, talk)


def _keep_logs(folder: Path) -> None:
    """The last run's logs stay, for whoever asks why a test failed."""
    kept = STATE_FOLDER / "logs" / "end-to-end"
    shutil.rmtree(kept, ignore_errors=True)
    if (folder / "logs").exists():
        shutil.copytree(folder / "logs", kept)
