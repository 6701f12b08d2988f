"""Lambda's Runtime API, small: AWS's own runtime client runs a handler here as it does there.

The handler lives in a process of its own that sees the function's folder, its layers and the standard library,
nothing of this environment. That is what makes it a fair check of imports, time limits and sudden ends.
"""

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distribution
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_CLIENT_PACKAGES = ("awslambdaric", "simplejson", "snapshot-restore-py")
"""AWS's runtime client and what it needs; Lambda's own Python brings the same."""

_BOOT = """
import sys
*paths, handler = sys.argv[1:]
sys.path[:0] = paths
from awslambdaric.__main__ import main
main(["", handler])
"""
_STREAMING_BOOT = """
import runpy, sys
*paths, handler = sys.argv[1:]
sys.path[:0] = paths
runpy.run_path(f"{paths[0]}/handler.py", run_name="__main__")
"""
"""What the script `bootstrap` of a function with a runtime of its own does."""

_END_OF_PRELUDE = b"\0" * 8
_LAST_LINES = 20


class HandlerFailed(Exception):
    """The handler raised, took too long or took its process down."""

    def __init__(self, kind: str, message: str, log: str = "") -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message
        self.log = log


@dataclass(frozen=True, slots=True)
class FunctionCode:
    """What a function consists of: its folder, its layers' `python` folders, and the handler in it."""

    folder: Path
    layers: tuple[Path, ...]
    handler: str = "handler.handler"


@dataclass(slots=True)
class _Exchange:
    """What the server and the sandbox tell each other."""

    events: queue.Queue[tuple[str, bytes, float]] = field(default_factory=queue.Queue)
    answers: queue.Queue[tuple[str, Any]] = field(default_factory=queue.Queue)
    chunks: queue.Queue[bytes] = field(default_factory=queue.Queue)
    loaded: threading.Event = field(default_factory=threading.Event)
    restore: threading.Event = field(default_factory=threading.Event)


class _RuntimeApiHandler(BaseHTTPRequestHandler):
    """The four things that a runtime client asks for: the next event, two kinds of answers, a restore."""

    exchange: _Exchange
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.exchange.loaded.set()
        if self.path.endswith("/restore/next"):
            self.exchange.restore.wait()
            self._send(200, b"")
            return
        identifier, event, deadline = self.exchange.events.get()
        headers = {
            "Lambda-Runtime-Aws-Request-Id": identifier,
            "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:000000000000:function:sandbox",
            "Content-Type": "application/json",
        }
        self._send(200, event, headers)

    def do_POST(self) -> None:
        if self.headers.get("Lambda-Runtime-Function-Response-Mode") == "streaming":
            self.exchange.answers.put(("response", self._read_stream()))
            self._send(202, b"")
            return
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.exchange.answers.put((self.path.rsplit("/", 1)[-1], json.loads(body or b"null")))
        self._send(202, b"")

    def _read_stream(self) -> dict[str, Any]:
        """Return a streamed response as a proxy integration's; its chunks are told of as they come."""
        received = b""
        while size := int(self.rfile.readline(), 16):
            chunk = self.rfile.read(size)
            self.rfile.readline()
            self.exchange.chunks.put(chunk)
            received += chunk
        trailers = [line for line in iter(self.rfile.readline, b"\r\n") if line]
        self.exchange.chunks.put(b"")
        prelude, _, body = received.partition(_END_OF_PRELUDE)
        return {**json.loads(prelude), "body": body.decode(), "failed": bool(trailers)}

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: what matters is in the answers."""

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _RuntimeApiServer(ThreadingHTTPServer):
    """Listens on a free port; a client that was killed is no error."""

    daemon_threads = True

    def __init__(self, exchange: _Exchange) -> None:
        super().__init__(("127.0.0.1", 0), type("Api", (_RuntimeApiHandler,), {"exchange": exchange}))

    def handle_error(self, *_: object) -> None:
        """Its process ended; the sandbox finds that out by itself."""


class Sandbox:
    """One execution environment of a function: started on entering the block, gone at its end.

    snapshot   as SnapStart does: the handler is loaded, its hooks run, and `restore` lets it go on.
    """

    def __init__(self, code: FunctionCode, environment: Mapping[str, str], *, snapshot: bool = False) -> None:
        self._code = code
        self._environment = {**environment, **({"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"} if snapshot else {})}
        self._exchange = _Exchange()
        self._server = _RuntimeApiServer(self._exchange)
        self._folder = tempfile.TemporaryDirectory(prefix="parlour-sandbox-")
        self._log = Path(self._folder.name, "log")
        self.load_seconds = 0.0
        """From the start of the process until the handler is imported: what a cold start waits for."""

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        client = _client_folder(Path(self._folder.name, "client"))
        paths = [self._code.folder, *self._code.layers, client]
        python = Path(sys.base_prefix, "bin", f"python3.{sys.version_info.minor}")
        boot = _STREAMING_BOOT if (self._code.folder / "bootstrap").is_file() else _BOOT
        begun = time.perf_counter()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [python, "-B", "-I", "-S", "-c", boot, *map(str, paths), self._code.handler],
                cwd=self._code.folder,
                env=self._process_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._wait_until_loaded()
        self.load_seconds = time.perf_counter() - begun
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    @property
    def log(self) -> str:
        """What the handler wrote to its output so far."""
        return self._log.read_text(errors="replace")

    def invoke(self, event: object, seconds: float = 60.0) -> Any:
        """The handler's answer. Raises HandlerFailed; after `seconds` the process is killed, as Lambda does."""
        self.begin(event, seconds)
        return self._answer(time.monotonic() + seconds)

    def stream(self, event: object, seconds: float = 60.0) -> Iterator[bytes]:
        """Hand the event over and yield the pieces of its response as they come."""
        self.begin(event, seconds)
        while chunk := self._exchange.chunks.get(timeout=seconds):
            yield chunk
        self._answer(time.monotonic() + seconds)

    def begin(self, event: object, seconds: float = 60.0) -> None:
        """Hand the event over and do not wait: for ending the process in the middle of it."""
        self._exchange.restore.set()
        self._exchange.chunks = queue.Queue()
        self._exchange.events.put((str(uuid.uuid4()), json.dumps(event).encode(), time.time() + seconds))

    def kill(self) -> None:
        """End the process at once, whatever it is at."""
        self._process.kill()
        self._process.wait()

    def _answer(self, until: float) -> Any:
        while True:
            with suppress(queue.Empty):
                kind, answer = self._exchange.answers.get(timeout=0.02)
                if kind == "response":
                    return answer
                raise HandlerFailed(answer["errorType"], answer["errorMessage"], self._last_log_lines())
            if self._process.poll() is not None and self._exchange.answers.empty():
                raise HandlerFailed(
                    "Runtime.ExitError", f"exit status {self._process.returncode}", self._last_log_lines()
                )
            if time.monotonic() > until:
                self.kill()
                raise HandlerFailed("Sandbox.Timedout", "the time is up", self._last_log_lines())

    def _wait_until_loaded(self) -> None:
        while not self._exchange.loaded.wait(0.01):
            if self._process.poll() is not None or not self._exchange.answers.empty():
                try:
                    self._answer(time.monotonic() + 10)
                finally:
                    self.__exit__(None, None, None)

    def _last_log_lines(self) -> str:
        return "\n".join(self.log.splitlines()[-_LAST_LINES:])

    def _process_environment(self) -> dict[str, str]:
        return {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LANG": "en_US.UTF-8",
            "TZ": ":UTC",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "512",
            "AWS_LAMBDA_FUNCTION_NAME": self._code.folder.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "LAMBDA_TASK_ROOT": str(self._code.folder),
            "_HANDLER": self._code.handler,
            **self._environment,
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
        }


def _client_folder(folder: Path) -> Path:
    """A folder with the runtime client and nothing else of this environment."""
    folder.mkdir()
    for name in _CLIENT_PACKAGES:
        found = distribution(name)
        tops = {file.parts[0] for file in found.files or () if not file.parts[0].endswith((".dist-info", ".."))}
        for top in tops:
            (folder / top).symlink_to(Path(str(found.locate_file(top))))
    return folder
