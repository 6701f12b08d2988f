"""A server that answers with exactly the bytes it is told to, when it is told to, and keeps what it was sent."""

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Sent:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """What to answer with: a status, then pieces of the body; a number is a pause in seconds."""

    pieces: Sequence[bytes | float]
    status: int = 200
    content_type: str = "text/event-stream"


def event(kind: str, **data: Any) -> bytes:
    """One server-sent event of the Messages API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def error(status: int, kind: str, message: str) -> Reply:
    """A refusal in the API's shape."""
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    return Reply([body], status, "application/json")


@dataclass
class Wire:
    """The server; replies are used up in order."""

    replies: list[Reply] = field(default_factory=list)
    sent: list[Sent] = field(default_factory=list)
    hung_up: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                wire.sent.append(Sent(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
                reply = wire.replies.pop(0)
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                self.end_headers()
                wire.play(reply, self)

            def log_message(self, *args: Any) -> None:
                """Tests are quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def play(self, reply: Reply, handler: BaseHTTPRequestHandler) -> None:
        try:
            for piece in reply.pieces:
                if isinstance(piece, bytes):
                    handler.wfile.write(piece)
                    handler.wfile.flush()
                else:
                    self.closing.wait(piece)
        except OSError:
            self.hung_up.set()

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
