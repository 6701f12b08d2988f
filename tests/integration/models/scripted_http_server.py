"""A server that answers with exactly the bytes it is told to, when it is told to, and keeps what it was sent."""

import base64
import json
import struct
import threading
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from parlour.models.model import StreamPart, Waiting


@dataclass(frozen=True)
class ReceivedRequest:
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class ScriptedReply:
    """What to answer with: a status, then pieces of the body; a number is a pause in seconds.

    chunked: send each piece as a chunk, and end without the last one when the pieces end in None.
    """

    pieces: Sequence[bytes | float | None]
    status: int = 200
    content_type: str = "text/event-stream"
    is_chunked: bool = False
    headers: dict[str, str] = field(default_factory=dict)


def sse_event(kind: str, **data: Any) -> bytes:
    """One server-sent event of the Messages API."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def event_stream_frame(headers: dict[str, str], payload: Any) -> bytes:
    """One message of AWS's event stream: lengths and their checksum, headers, payload, the checksum of it all."""
    body = json.dumps(payload).encode()
    head = b"".join(
        struct.pack(">B", len(name)) + name.encode() + struct.pack(">BH", 7, len(value)) + value.encode()
        for name, value in headers.items()
    )
    prelude = struct.pack(">II", 16 + len(head) + len(body), len(head))
    whole = prelude + struct.pack(">I", zlib.crc32(prelude)) + head + body
    return whole + struct.pack(">I", zlib.crc32(whole))


def bedrock_chunk(kind: str, **data: Any) -> bytes:
    """One event of the Messages API as Bedrock sends it."""
    inner = base64.b64encode(json.dumps({"type": kind, **data}).encode()).decode()
    headers = {":event-type": "chunk", ":content-type": "application/json", ":message-type": "event"}
    return event_stream_frame(headers, {"bytes": inner, "p": "abcd"})


def bedrock_exception(kind: str, message: str) -> bytes:
    """A refusal inside Bedrock's stream."""
    headers = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return event_stream_frame(headers, {"message": message})


def error_reply(status: int, kind: str, message: str) -> ScriptedReply:
    """A refusal in the API's shape."""
    body = json.dumps({"type": "error", "error": {"type": kind, "message": message}}).encode()
    return ScriptedReply([body], status, "application/json")


@dataclass
class ScriptedHttpServer:
    """The server; replies are used up in order."""

    scripted_replies: list[ScriptedReply] = field(default_factory=list)
    requests: list[ReceivedRequest] = field(default_factory=list)
    client_disconnected: threading.Event = field(default_factory=threading.Event)
    is_closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                wire.requests.append(
                    ReceivedRequest(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
                )
                reply = wire.scripted_replies.pop(0)
                self.send_response(reply.status)
                self.send_header("Content-Type", reply.content_type)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                if reply.is_chunked:
                    self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                wire.send_pieces(reply, self)

            def log_message(self, *args: Any) -> None:
                """Tests are quiet."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def send_pieces(self, reply: ScriptedReply, handler: BaseHTTPRequestHandler) -> None:
        try:
            for piece in reply.pieces:
                if isinstance(piece, float):
                    self.is_closing.wait(piece)
                elif piece is not None:
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if reply.is_chunked else piece)
                    handler.wfile.flush()
            if reply.is_chunked and None not in reply.pieces:
                handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.client_disconnected.set()

    def close(self) -> None:
        self.is_closing.set()
        self.server.shutdown()
        self.server.server_close()


def without_pauses(parts: Iterable[StreamPart]) -> Iterator[StreamPart]:
    """Yield what a model said, without the pauses between."""
    return (part for part in parts if not isinstance(part, Waiting))


def next_content(parts: Iterable[StreamPart]) -> StreamPart:
    """Return what a model said next."""
    return next(without_pauses(parts))
