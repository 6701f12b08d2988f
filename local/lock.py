"""`python -m local.lock [--upgrade]`: pin every requirement with the hashes of all its files.

One file per virtual environment, because the emulator, the SAM CLI and the checks each pin what the others do not.
The package client's own configuration is left out, so that the files are the same wherever they are made: no index,
no path, and the hashes of every platform's wheel (the layer is built for arm64 and x86_64).
"""

import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

_FLAGS = (
    "--quiet",
    "--generate-hashes",
    "--allow-unsafe",
    "--strip-extras",
    "--no-emit-index-url",
    "--no-emit-find-links",
    "--no-emit-trusted-host",
)


@dataclass(frozen=True, slots=True)
class LockFile:
    """One pinned file: where it is, and what it is made from (pip-compile's arguments).

    extra  an extra of the project that is pinned by itself, without the project: the source "-" is its entries.
    """

    output: str
    sources: tuple[str, ...]
    extra: str = ""


_PROJECT = "pyproject.toml"
_LAYER = "layers/dependencies/requirements.txt"

LOCK_FILES = (
    LockFile(_LAYER, (_PROJECT,)),
    LockFile("layers/extraction/requirements.txt", (f"--constraint={_LAYER}", "-"), extra="extraction"),
    LockFile(
        "requirements/dev.txt",
        (
            f"--constraint={_LAYER}",
            "--extra=cli",
            "--extra=extraction",
            "--extra=local",
            "--extra=dev",
            "--build-deps-for=editable",
            _PROJECT,
        ),
    ),
    LockFile("requirements/emulator.txt", ("requirements/emulator.in",)),
    LockFile("requirements/sam.txt", ("requirements/sam.in",)),
    LockFile("requirements/checks.txt", ("requirements/checks.in",)),
    LockFile("requirements/agentdojo.txt", ("requirements/agentdojo.in",)),
    LockFile("requirements/agent-frameworks.txt", ("requirements/agent-frameworks.in",)),
    LockFile("requirements/api-client.txt", ("requirements/api-client.in",)),
    LockFile("requirements/node.txt", ("requirements/node.in",)),
)


def compile_lock_file(lock: LockFile, extra: Sequence[str] = ()) -> None:
    """Write one pinned file. Raises CalledProcessError when nothing satisfies the sources."""
    command = [sys.executable, "-m", "piptools", "compile", *_FLAGS, *extra, f"--output-file={lock.output}"]
    given = "\n".join(_extra_requirements(lock.extra)) if lock.extra else None
    subprocess.run([*command, *lock.sources], cwd=ROOT, env=_pip_environment(), check=True, input=given, text=True)
    output = ROOT / lock.output
    output.write_text(output.read_text("utf-8").replace("via -r -", "via parlour (pyproject.toml)"), "utf-8")
    _check_no_addresses(output)


def _extra_requirements(extra: str) -> list[str]:
    """What the project declares for one of its extras."""
    project = tomllib.loads((ROOT / _PROJECT).read_text("utf-8"))["project"]
    entries: list[str] = project["optional-dependencies"][extra]
    return entries


def _pip_environment() -> dict[str, str]:
    """Ours, without where this machine keeps packages; certificates and an index given by variable stay."""
    kept = {name: value for name, value in os.environ.items() if name != "PIP_FIND_LINKS"}  # noqa: TID251 - a launcher
    return {**kept, "PIP_CONFIG_FILE": os.devnull, "CUSTOM_COMPILE_COMMAND": "python -m local.lock"}


def _check_no_addresses(path: Path) -> None:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if "://" in line or line.startswith("-"):
            raise SystemExit(
                f"{path.relative_to(ROOT)}:{number} names an index or a link; it must be plain pins: {line}"
            )


def main(arguments: Sequence[str]) -> None:
    """Pin everything, keeping the versions already pinned unless `--upgrade` is given."""
    for lock in LOCK_FILES:
        sys.stdout.write(f"{lock.output}\n")
        sys.stdout.flush()
        compile_lock_file(lock, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
