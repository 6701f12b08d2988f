"""The laptop stack as a child process: started as `make run` starts it, in a folder and on ports of its own."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tests.stories import words

#: Seconds; a first start builds the functions' layers and may share the machine with others.
START_SECONDS, STOP_SECONDS = 600, 90

#: Seconds between two looks at something that is awaited.
_LOOK_EVERY = 0.1


@dataclass(frozen=True, slots=True)
class Stack:
    """Addresses and keys of a running stack.

    folder   where it keeps its state, as `make run` does in the checkout's `.parlour`.
    url      the API and the console; deployed: the same API where the webhooks are.
    webhook  Gupshup's, with its token.
    phone, issuer, office   the doubles of the providers' send APIs, of the identity provider and of the site office.
    mail     the maildir of every mail that was sent.
    """

    folder: Path
    url: str
    deployed: str
    webhook: str
    phone: str
    issuer: str
    office: str
    tenant: str
    operator_key: str
    cloud_app_secret: str
    cloud_verify_token: str
    mail: Path


def until[T](look: Callable[[], T], what: str, seconds: float = 120) -> T:
    """Return the first look that finds something; AssertionError naming `what` when none does in time."""
    deadline = time.monotonic() + seconds
    while not (found := look()):
        assert time.monotonic() < deadline, f"{what} did not arrive within {seconds:.0f} s"
        time.sleep(_LOOK_EVERY)
    return found


def moved(day: str, spelt: str = "%Y-%m-%d") -> str:
    """Return a date of the example's files (ISO) as it is after an apply today: weeks later."""
    weeks = (datetime.now(UTC).date() - words.EXAMPLE_PLAYS_ON).days // 7
    return (date.fromisoformat(day) + timedelta(weeks=weeks)).strftime(spelt)


@contextmanager
def running(folder: Path, *options: str, model: str = words.OFFLINE) -> Iterator[Stack]:
    """Start a stack that keeps its state in `folder`, and stop it at the end of the block; `model` answers there."""
    folder.mkdir(parents=True, exist_ok=True)
    ports = dict(zip(words.PORT_VARIABLES, _free_ports(len(words.PORT_VARIABLES)), strict=True))
    environment = {
        **plain_environment(),
        words.MODEL_VARIABLE: model,
        **{name: str(port) for name, port in ports.items()},
    }
    output = folder / "output"
    command = [sys.executable, *words.START_STACK, str(folder), *options]
    with output.open("w") as written:
        process = subprocess.Popen(command, cwd=words.ROOT, env=environment, stdout=written, stderr=written)
    try:
        text = until(lambda: _ready(process, output), f"a stack that is ready ({output})", START_SECONDS)
        yield _read(folder, text, ports)
    finally:
        _stop(process)


def _ready(process: "subprocess.Popen[bytes]", output: Path) -> str:
    text = output.read_text("utf-8")
    assert process.poll() is None, f"the stack ended with status {process.returncode}: {text[-2_000:]}"
    return text if words.STACK_IS_READY in text and re.search(words.WEBHOOK_ADDRESS + r"\s", text) else ""


def _read(folder: Path, text: str, ports: dict[str, int]) -> Stack:
    command = json.loads((folder / words.COMMAND_FILE).read_text("utf-8"))
    secrets = json.loads((folder / words.SECRETS_FILE).read_text("utf-8"))
    webhook = re.search(words.WEBHOOK_ADDRESS, text)
    assert webhook
    servers = ("PHONE", "ISSUER", "OFFICE")
    phone, issuer, office = (f"http://127.0.0.1:{ports[f'PARLOUR_{server}_PORT']}" for server in servers)
    return Stack(
        folder=folder,
        url=command["url"],
        deployed=webhook[1],
        webhook=webhook[0],
        phone=phone,
        issuer=issuer,
        office=office,
        tenant=command["tenant"],
        operator_key=command["key"],
        cloud_app_secret=secrets[words.CLOUD_APP_SECRET],
        cloud_verify_token=secrets[words.CLOUD_VERIFY_TOKEN],
        mail=folder / words.MAIL_FOLDER,
    )


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop as Ctrl-C does; kill what does not stop."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def keep_logs(folder: Path, kept: Path) -> None:
    """Move the logs of a stopped stack to `kept`, for whoever asks why a story failed, and remove the rest."""
    shutil.rmtree(kept, ignore_errors=True)
    if (folder / "logs").exists():
        shutil.copytree(folder / "logs", kept)
        shutil.copy(folder / "output", kept / "up.log")
    shutil.rmtree(folder, ignore_errors=True)


def _free_ports(many: int) -> list[int]:
    with ExitStack() as held:
        servers = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(many)]
        return [server.getsockname()[1] for server in servers]


def plain_environment() -> dict[str, str]:
    """Return the shell's variables without those that choose another stack or a real model."""
    mine = os.environ  # noqa: TID251 - a launcher
    return {name: value for name, value in mine.items() if not name.startswith(("ANTHROPIC_", "PARLOUR_", "PYTEST_"))}
