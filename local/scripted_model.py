"""A model server that plays scripts over Anthropic's Messages protocol, and counts what it was asked.

A message picks its script and names its run: "chaos effects r17: ..." plays the script `effects` for the run r17.
An answer depends only on the request, so a turn that another worker resumes gets the same one.
"""

import base64
import json
import re
import struct
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from parlour.infra.json_values import Json, JsonObject

_SIGNED = re.compile(r"\bchaos ([a-z_]+) ([a-z0-9]+)\b")


DIMENSIONS = 8
"""Of a vector, when the request does not say."""


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool that the script has the model call; "TAG" in the arguments becomes the signature."""

    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class Script:
    """What the model does: makes its `tool_uses`, if any, and says `reply`; in later turns `later_reply`.

    background_reply   what it says, unsigned, where it is asked without tools (memory extraction, say).
    pause_seconds      time before it begins to answer.
    interruption       what befalls a turn while its model is asked: a name that `on_interruption` of the server knows.
    interrupts_after_tools  not in the first answer, but in the one to the tools' results.
    input_tokens, output_tokens   what the answer is said to have cost.
    """

    tool_uses: tuple[ToolUse, ...] = ()
    reply: str = "Noted."
    later_reply: str = "That has come in now."
    background_reply: str = ""
    pause_seconds: float = 0.0
    interruption: str = ""
    interrupts_after_tools: bool = False
    input_tokens: int = 1_000
    output_tokens: int = 50


@dataclass(slots=True)
class RequestCounts:
    """How often each signature was answered, and how many are being answered now and at most were."""

    by_tag: Counter[tuple[str, bool]] = field(default_factory=Counter)
    current: int = 0
    maximum: int = 0


class ScriptedModel:
    """The server, in threads of this process; `url` is its base address.

    on_interruption   makes an interruption that a script names happen, in the conversation of a signature.
    """

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        self.on_interruption: Callable[[str, str], None] = lambda _name, _tag: None
        self._scripts = dict(scripts)
        self._lock = threading.Lock()
        self._counts = RequestCounts()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"model": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def count_requests(self, tag: str, *, is_background: bool = False) -> int:
        """How many requests carried this signature; those that were answered `aside` are counted by themselves."""
        with self._lock:
            return self._counts.by_tag[tag, is_background]

    def change_script(self, name: str, **what: Any) -> None:
        """Change a script from the next request on."""
        with self._lock:
            self._scripts[name] = replace(self._scripts[name], **what)

    def take_max_concurrency(self) -> int:
        """How many requests were being answered at the same time, at most, since this was asked last."""
        with self._lock:
            most, self._counts.maximum = self._counts.maximum, self._counts.current
            return most

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def begin_request(self, request: JsonObject) -> tuple[Script, str]:
        """Count a request in; its script and signature. LookupError for a request that nobody signed."""
        signed = _SIGNED.search(json.dumps(request["messages"]))
        if signed is None:
            raise LookupError("the request carries no signature")
        name, tag = signed.groups()
        with self._lock:
            script = self._scripts[name]
            self._counts.by_tag[tag, is_background(script, request)] += 1
            self._counts.current += 1
            self._counts.maximum = max(self._counts.maximum, self._counts.current)
        return script, tag

    def end_request(self) -> None:
        """A request was answered."""
        with self._lock:
            self._counts.current -= 1


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/embeddings"):
            self._answer(200, embedding_response(request))
            return
        try:
            script, tag = self.model.begin_request(request)
        except LookupError as error:
            self._refuse(str(error))
            return
        try:
            if script.interruption and is_interrupted(script, request):
                self.model.on_interruption(script.interruption, tag)
            time.sleep(script.pause_seconds)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for event in stream_events(str(request["model"]), answer_content(script, tag, request), script):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        except OSError:
            return  # who asked is gone
        finally:
            self.model.end_request()

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


def is_background(script: Script, request: JsonObject) -> bool:
    """Whether the script answers this request aside."""
    return bool(script.background_reply) and not request.get("tools")


def is_interrupted(script: Script, request: JsonObject) -> bool:
    """Whether this is the request at which the script is interrupted: of a conversation's first turn, in its place."""
    messages = [message for message in _list(request["messages"]) if isinstance(message, dict)]
    if "tool_result" in _block_types(messages[-1]):
        return script.interrupts_after_tools
    return not script.interrupts_after_tools and all(message["role"] != "assistant" for message in messages)


def answer_content(script: Script, tag: str, request: JsonObject) -> list[JsonObject]:
    """The content that the script answers this request with."""
    if is_background(script, request):
        return [{"type": "text", "text": script.background_reply}]
    return _content_blocks(
        script, tag, [message for message in _list(request["messages"]) if isinstance(message, dict)]
    )


def _content_blocks(script: Script, tag: str, messages: Sequence[JsonObject]) -> list[JsonObject]:
    if "tool_result" in _block_types(messages[-1]):
        return _text_block(script.reply, tag)
    if any(message["role"] == "assistant" for message in messages):
        return _text_block(script.later_reply, tag)
    if not script.tool_uses:
        return _text_block(script.reply, tag)
    return [
        {
            "type": "tool_use",
            "id": f"toolu_{uuid.uuid4().hex}",
            "name": use.name,
            "input": _with_signature(use.arguments, tag),
        }
        for use in script.tool_uses
    ]


def stream_events(model: str, content: Sequence[JsonObject], script: Script) -> Iterator[JsonObject]:
    """A streamed message of the Messages API, event by event."""
    usage: JsonObject = {"input_tokens": script.input_tokens, "output_tokens": 1}
    message: JsonObject = {"id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": model}
    yield {"type": "message_start", "message": {**message, "content": [], "usage": usage}}
    for index, block in enumerate(content):
        empty, delta = _start_and_delta(block)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    delta = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": script.output_tokens}}
    yield {"type": "message_stop"}


def embedding_response(request: JsonObject) -> JsonObject:
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


def _start_and_delta(block: JsonObject) -> tuple[JsonObject, JsonObject]:
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    given = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": given}


def _block_types(message: JsonObject) -> list[str]:
    content = message["content"]
    return [str(block["type"]) for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text_block(text: str, tag: str) -> list[JsonObject]:
    return [{"type": "text", "text": f"{text} ({tag})"}]


def _with_signature(arguments: JsonObject, tag: str) -> JsonObject:
    signed: JsonObject = json.loads(json.dumps(arguments).replace("TAG", tag))
    return signed
