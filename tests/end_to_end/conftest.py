"""One whole stack for these tests, in a folder and on ports of its own; it is taken down at the end."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from local import logs
from local.interrupts import Interrupts
from local.progress import Progress
from local.stack import Options, Running, running
from local.state import FOLDER, free_ports
from local.talk import Talk
from tests.end_to_end.world import World


@pytest.fixture(scope="session")
def stack() -> Iterator[Running]:
    folder = FOLDER / f"end-to-end-{os.getpid()}"
    try:
        with running(Options(folder, free_ports()), Progress(), Interrupts()) as stack:
            yield stack
            said = [
                f"{one.at:%H:%M:%S} {one.function:<12} {one.text}\n" for one in logs.lines(stack.addresses.emulator)
            ]
            (folder / "logs" / "functions.log").write_text("".join(said), "utf-8")
    finally:
        _keep_logs(folder)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def world(stack: Running) -> Iterator[World]:
    with Talk(stack) as talk:
        yield World(stack, talk)


def _keep_logs(folder: Path) -> None:
    """The last run's logs stay, for whoever asks why a test failed."""
    kept = FOLDER / "logs" / "end-to-end"
    shutil.rmtree(kept, ignore_errors=True)
    if (folder / "logs").exists():
        shutil.copytree(folder / "logs", kept)
