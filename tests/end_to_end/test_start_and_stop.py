"""Starting and being told to stop: one line for what is in the way, and nothing left behind at any moment."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from local.state import ROOT, STATE_FOLDER, free_ports


@pytest.fixture
def folder() -> Iterator[Path]:
    folder = STATE_FOLDER / f"start-{os.getpid()}"
    folder.mkdir(parents=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def environment() -> dict[str, str]:
    ports = free_ports()
    chosen = {f"PARLOUR_{name.upper()}_PORT": str(getattr(ports, name)) for name in ports.__dataclass_fields__}
    return {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **chosen}  # noqa: TID251 - what a shell has


def start(folder: Path, environment: dict[str, str], *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "local.up", "--state", str(folder), *options]
    with (folder / "said").open("w") as output:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=output, stderr=output, text=True)


def said(folder: Path, words: str, seconds: float = 60) -> str:
    until = time.monotonic() + seconds
    while words not in (text := (folder / "said").read_text()):
        assert time.monotonic() < until, f"it never said {words!r}: {text}"
        time.sleep(0.05)
    return text


def left_behind(folder: Path) -> list[str]:
    """Processes that have to do with the folder."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = " ".join(process.info["cmdline"] or ())
        if str(folder) in line and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(line)
    return found


@pytest.mark.parametrize("moment", ["database", "AWS emulator", "functions and layers"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_in_the_middle_of_starting_leaves_nothing(
    folder: Path, environment: dict[str, str], moment: str, number: signal.Signals
) -> None:
    process = start(folder, environment)
    said(folder, moment)
    process.send_signal(number)
    assert process.wait(60) == 0, (folder / "said").read_text()
    assert left_behind(folder) == []
    assert "Traceback" not in (folder / "said").read_text()


def test_a_second_start_is_refused_in_one_line(folder: Path, environment: dict[str, str]) -> None:
    first = start(folder, environment)
    said(folder, "database")
    command = [sys.executable, "-m", "local.up", "--state", str(folder)]
    second = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    first.send_signal(signal.SIGINT)
    first.wait(60)
    assert second.returncode == 1
    assert second.stderr.startswith(f"parlour: already running here: process {first.pid}")
    assert second.stderr.count("\n") == 1


def test_a_busy_port_is_told_in_one_line(folder: Path, environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", int(environment["PARLOUR_PHONE_PORT"]))):
        process = start(folder, environment)
        assert process.wait(60) == 1
    lines = (folder / "said").read_text().splitlines()
    assert [line for line in lines if "is in use" in line and "PARLOUR_PHONE_PORT" in line]
    assert left_behind(folder) == []


def test_after_the_supervisor_was_killed_the_next_start_sweeps_up(folder: Path, environment: dict[str, str]) -> None:
    killed = start(folder, environment)
    said(folder, "functions and layers")
    killed.kill()
    killed.wait(10)
    assert left_behind(folder)
    again = start(folder, environment)
    said(folder, "left over from an earlier start")
    said(folder, "functions and layers")
    again.send_signal(signal.SIGINT)
    assert again.wait(60) == 0
    assert left_behind(folder) == []


def test_a_pack_with_mistakes_is_listed_and_nothing_is_started(folder: Path, environment: dict[str, str]) -> None:
    pack = folder / "pack"
    pack.mkdir()
    (pack / "tenant.yaml").write_text("slug: acme\ncolour: red\n")
    process = start(folder, environment, "--pack", str(pack))
    assert process.wait(60) == 1
    first, *lines = (folder / "said").read_text().splitlines()
    assert first == f"parlour: {pack} is not a valid pack: 2 problems to fix"
    assert [line.split(": ")[1] for line in lines] == ["display_name", "colour"]
    assert not (folder / "postgres").exists()


def test_a_pack_folder_that_is_not_there_is_said_in_one_line(folder: Path, environment: dict[str, str]) -> None:
    process = start(folder, environment, "--pack", str(folder / "nowhere"))
    assert process.wait(60) == 1
    assert (folder / "said").read_text().splitlines() == [
        f"parlour: {folder}/nowhere is not a folder; give the folder that contains tenant.yaml"
    ]
