"""A server that answers with exactly the bytes it is told to, when it is told to, and keeps what it was sent."""

import base64
import json
import struct
import threading
import zlib
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
    """What to answer with: a status, then pieces of the body; a number is a pause in seconds.

    chunked: send each piece as a chunk, and end without the last one when the pieces end in None.
    """

    pieces: Sequence[bytes | float | None]
    status: int = 200
    content_type: str = "text/event-stream"
    chunked: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def event(kind: str, **data: Any) -> bytes:
    """One server-sent event of the Messages API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def frame(headers: dict[str, str], payload: Any) -> bytes:
    """One message of AWS's event stream: lengths and their checksum, headers, payload, the checksum of it all."""
    body = json.dumps(payload).encode()
    head = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def chunk(kind: str, **data: Any) -> bytes:
    """One event of the Messages API as Bedrock sends it."""
    inner = base64.b64encode(json.dumps({"type": kind, **data}).encode()).decode()
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return frame(headers, {"bytes": inner, "p": "abcd"})


def exception(kind: str, message: str) -> bytes:
    """A refusal inside Bedrock's stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(headers, {"message": message})


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
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.chunked:
                    self.send_header("Transfer-Encoding", "chunked")
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
                if isinstance(piece, float):
                    self.closing.wait(piece)
                elif piece is not None:
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.chunked else piece)
                    handler.wfile.flush()
            if reply.chunked and None not in reply.pieces:
                handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.hung_up.set()

    def close(self) -> None:
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()
