"""aimock as a child process: an implementation of the providers' protocols that is not ours."""

import json
import re
import subprocess
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.node import NODE

_FOLDER = Path(__file__).parents[2] / "protocol_server"
_CLI = _FOLDER / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"
_ASKING = _FOLDER / "asking.mjs"
_START_SECONDS = 30.0

type AnswerFunction = Callable[[dict[str, Any]], dict[str, Any]]
"""From a request in the server's own words (`messages`, the results of tools among them with the role `tool`, `tools`)
to one of its responses (`content`, or `toolCalls` with `name` and `arguments`)."""


class ProtocolServer:
    """One running server; what it answers is added as fixtures, what it was asked is in its journal."""

    def __init__(self, folder: Path) -> None:
        fixtures = folder / "fixtures"
        fixtures.mkdir()
        self._start(folder, str(_CLI), "--port", "0", "--fixtures", str(fixtures))

    def add_answer(self, match: dict[str, Any], response: dict[str, Any], **options: Any) -> None:
        """Answer requests that match; options are how: chunkSize, latency, truncateAfterChunks, streamingProfile."""
        fixture = {"match": match, "response": response, **options}
        self._control.post("fixtures", json={"fixtures": [fixture]}).raise_for_status()

    def list_requests(self) -> list[Any]:
        """Every request so far: path, headers, and the body in the server's own words."""
        return list(self._control.get("journal").raise_for_status().json())

    def reset(self) -> None:
        self._control.post("reset").raise_for_status()

    def stop(self) -> None:
        self._control.close()
        self._process.terminate()
        self._process.wait(10)

    def _start(self, folder: Path, *program: str) -> None:
        if not (NODE.is_file() and _CLI.is_file()):
            pytest.fail("the protocol server is missing; run: make environments")
        with (folder / "log").open("w") as log:
            self._process = subprocess.Popen([NODE, *program], stdout=log, stderr=subprocess.STDOUT)
        self.url = self._address(folder / "log")
        self._control = httpx2.Client(base_url=f"{self.url}/__aimock/")

    def _address(self, log: Path) -> str:
        until = time.monotonic() + _START_SECONDS
        while self._process.poll() is None and time.monotonic() < until:
            if found := re.search(r"listening on (http://\S+)", log.read_text()):
                return found[1].rstrip("/")
            time.sleep(0.02)
        self._process.kill()
        pytest.fail(f"the protocol server did not start: {log.read_text()}")


class ScriptedProtocolServer(ProtocolServer):
    """The same with a mind of the test's: what it answers may come of what it was told so far, tool results above all.
    What goes wrong in the mind is kept in `problems`; whoever asked is told of an error of the provider's."""

    def __init__(self, folder: Path, mind: AnswerFunction) -> None:
        self.problems: list[Exception] = []
        handler = type("Handler", (_Handler,), {"mind": staticmethod(mind), "problems": self.problems})
        self._mind = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._mind.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self._start(folder, str(_ASKING), f"http://127.0.0.1:{self._mind.server_port}")

    def stop(self) -> None:
        super().stop()
        self._mind.shutdown()
        self._mind.server_close()


class _Handler(BaseHTTPRequestHandler):
    mind: AnswerFunction
    problems: list[Exception]

    def do_POST(self) -> None:
        try:
            status, answer = 200, self.mind(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        except Exception as problem:  # noqa: BLE001 - the test that looks at `problems` tells of it
            self.problems.append(problem)
            status, answer = 500, {}
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: the journal says it."""
