"""What a stack keeps between two starts: its folder, its passwords and keys, its ports, and who is using it."""

import fcntl
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path

from local.errors import StackError

ROOT = Path(__file__).resolve().parent.parent
"""The clone; everything that is built or kept lies under it."""

STATE_FOLDER = ROOT / ".parlour"
_NEEDED_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Ports:
    """One port per server, all on 127.0.0.1."""

    console: int = 8700
    emulator: int = 8701
    phone: int = 8702
    embeddings: int = 8703
    issuer: int = 8704
    office: int = 8705
    mail: int = 8706

    def check_free(self) -> None:
        """StackProblem naming the first port that somebody else is using."""
        for entry in fields(self):
            if not _is_free(getattr(self, entry.name)):
                variable = f"PARLOUR_{entry.name.upper()}_PORT"
                raise StackError(
                    f"port {getattr(self, entry.name)} (the {entry.name}'s) is in use: "
                    f"stop what uses it, or set {variable} to a free one"
                )


def ports_from_environment(environment: Mapping[str, str]) -> Ports:
    """The usual ports, or those that PARLOUR_CONSOLE_PORT and its like name."""
    chosen = {}
    for entry in fields(Ports):
        variable = f"PARLOUR_{entry.name.upper()}_PORT"
        text = environment.get(variable, "")
        if text and not (text.isdecimal() and 0 < int(text) < 65_536):
            raise StackError(f"{variable}={text} is not a port: use a number from 1024 to 65535")
        if text:
            chosen[entry.name] = int(text)
    return replace(Ports(), **chosen)


def free_ports() -> Ports:
    """Ports that nobody uses at this moment."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in fields(Ports)]
    numbers = [server.getsockname()[1] for server in held]
    for server in held:
        server.close()
    return Ports(*numbers)


@dataclass(frozen=True, slots=True)
class StackKeys:
    """What this laptop's stack signs in with; made at the first start, never shown in a log."""

    app_password: str
    owner_password: str
    webhook_token: str
    operator_key: str
    token_secret: str
    provider_key: str
    whatsapp_app_secret: str
    whatsapp_verify_token: str


def load_keys(folder: Path) -> StackKeys:
    """The keys in secrets.json, which only its owner may read; missing ones are made."""
    file = folder / "secrets.json"
    known = json.loads(file.read_text()) if file.exists() else {}
    complete = {entry.name: known.get(entry.name) or secrets.token_urlsafe(32) for entry in fields(StackKeys)}
    if complete != known:
        write_private(file, json.dumps(complete, indent=2))
    return StackKeys(**complete)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the folder; StackProblem when a running stack holds it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise StackError(f"already running here: {file.read().strip()}; stop it with Ctrl-C there") from None
        file.truncate(0)
        file.write(f"process {os.getpid()}")
        file.flush()
        yield


def minimal_environment() -> dict[str, str]:
    """What any process needs, and nothing of the developer's own: no keys, no profiles, no proxies."""
    names = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "USER")
    return {name: os.environ[name] for name in names if name in os.environ}  # noqa: TID251 - a launcher


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner may read, at no moment otherwise."""
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(text + "\n")


def check_disk_space(folder: Path) -> None:
    """StackProblem when the disk is nearly full."""
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise StackError(f"only {free // 1_000_000} MB free under {folder}: the stack needs 1,000 MB")


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
