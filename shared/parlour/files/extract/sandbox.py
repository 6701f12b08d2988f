"""Reading a file in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile

from pydantic import TypeAdapter

from parlour.files.extract.parts import ExtractedFile
from parlour.files.file_types import FileType, validate_bytes
from parlour.files.problems import MAX_FILE_BYTES, unreadable_file
from parlour.infra import log
from parlour.infra.settings import sandbox_environment

_CHILD = "parlour.files.extract.child_process"
_STDERR_BYTES = 16 * 1024
_READ_FILE = TypeAdapter(ExtractedFile)


@dataclass(frozen=True, slots=True)
class ProcessLimits:
    """What the process may take: bytes of memory, and seconds, both of the clock and of the processor."""

    memory_bytes: int = 1024 * 1024 * 1024
    seconds: int = 240


def extract_in_sandbox(data: bytes, kind: FileType, limits: ProcessLimits = ProcessLimits()) -> ExtractedFile:
    """Return the file's text. UnreadableFile when there is none, for whatever reason."""
    if len(data) > MAX_FILE_BYTES:
        raise unreadable_file("too_large")
    validate_bytes(kind, data)
    with TemporaryDirectory(prefix="parlour-file-") as folder:
        source, out = Path(folder, "file"), Path(folder, "out")
        source.write_bytes(data)
        arguments = [
            sys.executable,
            "-m",
            _CHILD,
            kind,
            str(source),
            str(out),
            str(limits.memory_bytes),
            str(limits.seconds),
        ]
        environment = {**sandbox_environment(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with TemporaryFile() as said:  # no pipe: what a parser has to say may be more than fits into our memory
            try:
                done = subprocess.run(  # noqa: S603 - this interpreter and our own module
                    arguments,
                    env=environment,
                    cwd=source.parent,
                    timeout=limits.seconds,
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=said,
                )
            except subprocess.TimeoutExpired as late:
                raise unreadable_file("too_slow") from late
            if done.returncode:
                log.warning("extraction_process_failed", kind=kind, code=done.returncode)
                said.seek(max(0, said.seek(0, os.SEEK_END) - _STDERR_BYTES))
                raise unreadable_file(_reason(done.returncode, said.read(_STDERR_BYTES)))
        return _read(out)


def _reason(code: int, stderr: bytes) -> str:
    """Why the process died. A parser in another language ends the process when there is no memory left."""
    if code == -signal.SIGXCPU:
        return "too_slow"
    if code == -signal.SIGKILL or b"MemoryError" in stderr or b"bad_alloc" in stderr or b"memory allocation" in stderr:
        return "too_much_memory"
    return "broken"


def _read(out: Path) -> ExtractedFile:
    try:
        told = json.loads(out.read_text("utf-8"))
        if "problem" in told:
            raise unreadable_file(str(told["problem"]))
        return _READ_FILE.validate_python(told)
    except (OSError, ValueError, TypeError) as error:
        raise unreadable_file("broken") from error
