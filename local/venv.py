"""Make a virtual environment from a pinned file, or bring it up to date: `python3.13 local/venv.py FOLDER FILE`.

Runs before anything is installed, so it imports the standard library only. When nothing changed it does
nothing, and it says every failure in one line.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO

_ROOT = Path(__file__).resolve().parent.parent
_PYTHON = (3, 13)
_NEEDED_BYTES = 1_500_000_000
_PROGRESS_SECONDS = 5.0

_NO_NETWORK = (
    "Could not find a version",
    "Failed to establish a new connection",
    "Max retries exceeded",
    "Name or service not known",
    "Network is unreachable",
    "Temporary failure in name resolution",
    "Read timed out",
)
_REASONS = (
    (("No space left on device",), "the disk is full: free 1.5 GB and run make again"),
    (
        ("DO NOT MATCH THE HASHES",),
        "a package is not the pinned one: somebody altered it on the way, or run `make lock`",
    ),
    (_NO_NETWORK, "the package index cannot be reached: connect to the network and run make again"),
    (("Permission denied",), "no permission to write there: make the folder yours and run make again"),
)


def main(arguments: Sequence[str]) -> int:
    """Bring one environment up to date; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path)
    parser.add_argument("requirements", type=Path)
    parser.add_argument("--project", action="store_true", help="also install this project, editable")
    chosen = parser.parse_args(arguments)
    folder, stamp = chosen.folder, chosen.folder / ".installed"
    sources = [chosen.requirements, *([Path("pyproject.toml")] if chosen.project else [])]
    fingerprint = _fingerprint(sources)
    if _is_current(folder, stamp, fingerprint):
        stamp.touch()
        return 0
    problem = _machine_problem() or _install(folder, chosen.requirements, project=chosen.project)
    if problem:
        sys.stderr.write(f"parlour: {folder}: {problem}\n")
        return 1
    stamp.write_text(fingerprint)
    return 0


def _fingerprint(sources: Sequence[Path]) -> str:
    digest = hashlib.sha256(f"{sys.version_info[:3]} {_ROOT}".encode())
    for source in sources:
        digest.update(source.read_bytes())
    return digest.hexdigest()


def _is_current(folder: Path, stamp: Path, fingerprint: str) -> bool:
    return stamp.exists() and stamp.read_text() == fingerprint and (folder / "bin" / "python").exists()


def _machine_problem() -> str:
    if sys.version_info[:2] != _PYTHON:
        return f"Python 3.13 is needed, this is {sys.version.split()[0]}: install it, or name it with PYTHON=..."
    free = shutil.disk_usage(_ROOT).free
    if free < _NEEDED_BYTES:
        return f"only {free // 1_000_000} MB free: 1,500 MB are needed"
    return ""


def _install(folder: Path, requirements: Path, *, project: bool) -> str:
    """Returns what went wrong, or nothing."""
    pinned = requirements.read_text()
    count = sum(1 for line in pinned.splitlines() if line[:1].isalnum())
    sys.stdout.write(f"   {folder}: installing {count} packages\n")
    log = _ROOT / ".parlour" / "logs" / f"install-{folder.name.lstrip('.')}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    commands = [_create_command(folder), _pip_command(folder, "--require-hashes", "-r", str(requirements))]
    if project:
        commands.append(_pip_command(folder, "--no-deps", "--no-build-isolation", "--editable", "."))
    begun = time.monotonic()
    with log.open("w") as output:
        for command in commands:
            if problem := _run_command(command, output, count, str(folder)):
                return f"{problem} (full log: {log.relative_to(_ROOT)})"
    sys.stdout.write(f"   {folder}: ready after {time.monotonic() - begun:.0f} s\n")
    return ""


def _create_command(folder: Path) -> list[str]:
    """A folder made by another Python is made anew."""
    made_by = folder / "pyvenv.cfg"
    version = f"version = {sys.version.split()[0]}"
    anew = ["--clear"] if made_by.exists() and version not in made_by.read_text() else []
    return [sys.executable, "-m", "venv", *anew, str(folder)]


def _pip_command(folder: Path, *arguments: str) -> list[str]:
    quiet = ("--disable-pip-version-check", "--no-input", "--progress-bar=off")
    return [str(folder / "bin" / "python"), "-m", "pip", "install", *quiet, *arguments]


def _run_command(command: Sequence[str], log: TextIO, count: int, name: str) -> str:
    """Run it, with a line now and then; returns what went wrong, or nothing."""
    lines: list[str] = []
    collected, told = 0, time.monotonic()
    with subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout or ():
            log.write(line)
            lines.append(line.strip())
            collected += line.startswith("Collecting ")
            if line.startswith("Installing collected"):
                sys.stdout.write(f"   {name}: unpacking\n")
            if time.monotonic() - told > _PROGRESS_SECONDS:
                told = time.monotonic()
                sys.stdout.write(f"   {name}: {min(collected, count)} of {count} packages\n")
                sys.stdout.flush()
    return _failure_reason(lines) if process.returncode else ""


def _failure_reason(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    for signs, reason in _REASONS:
        if any(sign in text for sign in signs):
            return reason
    errors = [line for line in lines if line.startswith("ERROR")] or list(lines) or ["no output"]
    return errors[-1]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
