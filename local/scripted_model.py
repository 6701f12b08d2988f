"""A model server that plays scripts over Anthropic's Messages protocol, and counts what it was asked.

Whoever writes to an agent picks the script and signs: "chaos effects r17: ..." plays the script `effects` for `r17`.
What it answers hangs on what the request shows alone, so that a turn that is resumed elsewhere goes on.
"""

import base64
import json
import re
import struct
import threading
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from parlour.infra.jsonable import Json, JsonObject

_SIGNED = re.compile(r"\bchaos ([a-z_]+) ([a-z0-9]+)\b")


DIMENSIONS = 8
"""Of a vector, when the request does not say."""


@dataclass(frozen=True, slots=True)
class Uses:
    """A tool that the script has the model call; "TAG" in the arguments becomes the signature."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Script:
    """What the model does: calls `uses` at once, if any, says `then`; in later turns of the session it says `later`.

    aside         what it says, unsigned, where it is asked without tools: by whoever reads conversations afterwards.
    pause         seconds before it begins to answer.
    input_tokens, output_tokens   what the answer is said to have cost.
    """

    uses: tuple[Uses, ...] = ()
    then: str = "Noted."
    later: str = "That has come in now."
    aside: str = ""
    pause: float = 0.0
    input_tokens: int = 1_000
    output_tokens: int = 50


@dataclass(slots=True)
class Asked:
    """How often each signature was answered, and how many are being answered now and at most were."""

    by_tag: Counter[tuple[str, bool]] = field(default_factory=Counter)
    at_once: int = 0
    most_at_once: int = 0


class ScriptedModel:
    """The server, in threads of this process; `url` is its base address."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self._scripts = dict(scripts)
        self._lock = threading.Lock()
        self._asked = Asked()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def asked(self, tag: str, *, aside: bool = False) -> int:
        """How many requests carried this signature; those that were answered `aside` are counted by themselves."""
        with self._lock:
            return self._asked.by_tag[tag, aside]

    def change(self, name: str, **what: Any) -> None:
        """Change a script from the next request on."""
        with self._lock:
            self._scripts[name] = replace(self._scripts[name], **what)

    def most_at_once(self) -> int:
        """How many requests were being answered at the same time, at most, since this was asked last."""
        with self._lock:
            most, self._asked.most_at_once = self._asked.most_at_once, self._asked.at_once
            return most

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def begin(self, request: JsonObject) -> tuple[Script, str]:
        """Count a request in; its script and signature. LookupError for a request that nobody signed."""
        signed = _SIGNED.search(json.dumps(request["messages"]))
        if signed is None:
            raise LookupError("the request carries no signature")
        name, tag = signed.groups()
        with self._lock:
            script = self._scripts[name]
            self._asked.by_tag[tag, is_aside(script, request)] += 1
            self._asked.at_once += 1
            self._asked.most_at_once = max(self._asked.most_at_once, self._asked.at_once)
        return script, tag

    def end(self) -> None:
        """A request was answered."""
        with self._lock:
            self._asked.at_once -= 1


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            self._answer(200, embeddings(request))
            return
        try:
            script, tag = self.model.begin(request)
        except LookupError as error:
            self._refuse(str(error))
            return
        try:
            time.sleep(script.pause)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in events(str(request["model"]), content(script, tag, request), script):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        except OSError:
            return  # who asked is gone
        finally:
            self.model.end()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing: the counts say it."""

    def _refuse(self, why: str) -> None:
        self._answer(400, {"type": "error", "error": {"type": "invalid_request_error", "message": why}})

    def _answer(self, status: int, content: JsonObject) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def is_aside(script: Script, request: JsonObject) -> bool:
    """Whether the script answers this request aside."""
    return bool(script.aside) and not request.get("tools")


def content(script: Script, tag: str, request: JsonObject) -> list[JsonObject]:
    """The content that the script answers this request with."""
    if is_aside(script, request):
        return [{"type": "text", "text": script.aside}]
    return _blocks(script, tag, [message for message in _list(request["messages"]) if isinstance(message, dict)])


def _blocks(script: Script, tag: str, messages: Sequence[JsonObject]) -> list[JsonObject]:
    if "tool_result" in _kinds(messages[-1]):
        return _text(script.then, tag)
    if any(message["role"] == "assistant" for message in messages):
        return _text(script.later, tag)
    if not script.uses:
        return _text(script.then, tag)
    return [
        {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex}", "name": use.name, "input": _signed(use.arguments, tag)}
        for use in script.uses
    ]


def events(model: str, content: Sequence[JsonObject], script: Script) -> Iterator[JsonObject]:
    """A streamed message of the Messages API, event by event."""
    usage: JsonObject = {"input_tokens": script.input_tokens, "output_tokens": 1}
    message: JsonObject = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model}
    yield {"type": "message_start", "message": {**message, "content": [], "usage": usage}}
    for index, block in enumerate(content):
        empty, delta = _opened(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": script.output_tokens}}
    yield {"type": "message_stop"}


def embeddings(request: JsonObject) -> JsonObject:
    """Vectors as OpenAI gives them: every text is at the same place, so that words alone tell texts apart."""
    size, texts = int(str(request.get("dimensions") or DIMENSIONS)), request["input"]
    packed = base64.b64encode(struct.pack(f"<{size}f", *([1.0] * size))).decode()
    vector: Json = packed if request.get("encoding_format") == "base64" else [1.0] * size
    data: list[Json] = [
        {"object": "embedding", "index": index, "embedding": vector} for index, _ in enumerate([*_list(texts)])
    ]
    return {"object": "list", "model": request.get("model"), "data": data}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else [value]


def _opened(block: JsonObject) -> tuple[JsonObject, JsonObject]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    given = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": given}


def _kinds(message: JsonObject) -> list[str]:
    content = message["content"]
    return [str(block["type"]) for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(text: str, tag: str) -> list[JsonObject]:
    return [{"type": "text", "text": f"{text} ({tag})"}]


def _signed(arguments: JsonObject, tag: str) -> JsonObject:
    signed: JsonObject = json.loads(json.dumps(arguments).replace("TAG", tag))
    return signed
