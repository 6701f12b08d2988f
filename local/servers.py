"""The small servers of a stack: how each is started, and how one knows that it answers."""

import smtplib
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx2

from local.processes import ChildProcess, ProcessGroup


@dataclass(frozen=True, slots=True)
class Server:
    """A child that answers: `is_ready` says whether it does so yet."""

    child: ChildProcess
    is_ready: Callable[[], bool]


def start_server(
    processes: ProcessGroup, name: str, port: int, health_path: str, *arguments: str, environment: Mapping[str, str]
) -> Server:
    """Run `python -m local.<name> --port PORT ...`; it is ready when GET `look_at` answers 200."""
    command = [sys.executable, "-m", f"local.{name}", "--port", str(port), *arguments]
    url = f"http://127.0.0.1:{port}{health_path}"
    return Server(processes.start(name, command, environment), lambda: is_answering(url))


def start_mail_server(processes: ProcessGroup, port: int, folder: Path, environment: Mapping[str, str]) -> Server:
    """Run an SMTP server that puts every mail into the maildir `folder`."""
    handler = ["-c", "aiosmtpd.handlers.Mailbox", str(folder)]
    command = [sys.executable, "-m", "aiosmtpd", "--nosetuid", "--listen", f"127.0.0.1:{port}", *handler]
    return Server(processes.start("mail", command, environment), lambda: _is_listening(port))


def command_line_options(given: Mapping[str, str]) -> list[str]:
    """Options as a command line has them. Each in one word: a secret may begin with a dash."""
    return [f"{name}={value}" for name, value in given.items()]


def _is_listening(port: int) -> bool:
    try:
        with smtplib.SMTP("127.0.0.1", port, timeout=2):
            return True
    except (OSError, smtplib.SMTPException):
        return False


def is_answering(url: str) -> bool:
    """Whether GET `url` gives 200 at this moment."""
    try:
        return httpx2.get(url, timeout=2).status_code == httpx2.codes.OK
    except httpx2.HTTPError:
        return False
