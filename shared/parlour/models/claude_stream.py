"""The events of a streamed Claude message, put together: pure, and the same whoever serves the model."""

import json
from collections.abc import Iterable, Iterator
from typing import cast

from parlour.infra.errors import ProviderUnavailable
from parlour.infra.json_values import Json, JsonObject
from parlour.models.model import Completion, ReasoningDelta, StreamPart, TextDelta, TokenUsage, Waiting


def stream_parts(events: Iterable[JsonObject | Waiting]) -> Iterator[StreamPart]:
    """Text, reasoning and pauses as they come, then the whole message.

    Events and deltas of unknown types are passed over, blocks of unknown types are kept as they came.
    ProviderUnavailable when the events end before `message_stop`, or a tool's input cannot be read.
    """
    message = _Message()
    for event in events:
        if isinstance(event, Waiting):
            yield event
            continue
        if delta := message.add(event):
            yield delta
        if event.get("type") == "message_stop":
            yield message.to_completion()
            return
    raise ProviderUnavailable("the model's answer broke off before its end")


def is_content_event(event: JsonObject) -> bool:
    """Whether the model has begun to write: the first event that carries content, thinking included."""
    return str(event.get("type", "")).startswith("content_block")


def storable_text(text: str) -> str:
    """Text that any database and any channel can take: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "").encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


class _Message:
    """The message so far."""

    def __init__(self) -> None:
        self._blocks: dict[int, JsonObject] = {}
        self._inputs: dict[int, str] = {}
        self._usage: dict[str, int] = {}
        self._stop_reason = ""

    def add(self, event: JsonObject) -> TextDelta | ReasoningDelta | None:
        """Take one event in; return what it added to the answer's text or to its reasoning."""
        match event:
            case {"type": "message_start", "message": {"usage": dict(usage)}}:
                self._update_usage(usage)
            case {"type": "content_block_start", "index": int(index), "content_block": dict(block)}:
                self._blocks[index] = block
            case {"type": "content_block_delta", "index": int(index), "delta": dict(delta)} if index in self._blocks:
                return self._append_delta(index, delta)
            case {"type": "message_delta", "delta": dict(delta)}:
                self._stop_reason = str(delta.get("stop_reason") or self._stop_reason)
                self._update_usage(cast("JsonObject", event.get("usage") or {}))
        return None

    def to_completion(self) -> Completion:
        for index, text in self._inputs.items():
            self._blocks[index]["input"] = self._parse_tool_input(text)
        blocks = tuple(cast("JsonObject", _storable(self._blocks[index])) for index in sorted(self._blocks))
        usage = TokenUsage(
            input_tokens=self._usage.get("input_tokens", 0),
            output_tokens=self._usage.get("output_tokens", 0),
            cache_read_tokens=self._usage.get("cache_read_input_tokens", 0),
            cache_write_tokens=self._usage.get("cache_creation_input_tokens", 0),
        )
        return Completion(blocks, self._stop_reason, usage)

    def _append_delta(self, index: int, delta: JsonObject) -> TextDelta | ReasoningDelta | None:
        block = self._blocks[index]
        match delta:
            case {"type": "text_delta", "text": str(text)}:
                block["text"] = f"{block.get('text', '')}{text}"
                return TextDelta(storable_text(text)) if text else None
            case {"type": "thinking_delta", "thinking": str(thinking)}:
                block["thinking"] = f"{block.get('thinking', '')}{thinking}"
                return ReasoningDelta(storable_text(thinking)) if thinking else None
            case {"type": "signature_delta", "signature": signature}:
                block["signature"] = signature
            case {"type": "citations_delta", "citation": citation}:
                block["citations"] = [*cast("list[Json]", block.get("citations") or []), citation]
            case {"type": "input_json_delta", "partial_json": str(text)}:
                self._inputs[index] = self._inputs.get(index, "") + text
        return None

    def _parse_tool_input(self, text: str) -> Json:
        """Return a tool's input; empty when the answer's length limit cut it, so that the schema refuses it."""
        if not text:
            return {}
        try:
            return cast("Json", json.loads(text, parse_constant=_reject_constant))
        except ValueError:
            if self._stop_reason == "max_tokens":
                return {}
            raise ProviderUnavailable("the model's tool call could not be read") from None

    def _update_usage(self, usage: JsonObject) -> None:
        """Update the usage with totals so far: later ones replace earlier ones, missing ones do not."""
        self._usage.update({name: value for name, value in usage.items() if isinstance(value, int)})


def _reject_constant(constant: str) -> Json:
    raise ValueError(f"{constant} is not JSON")


def _storable(value: Json) -> Json:
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, list):
        return [_storable(entry) for entry in value]
    if isinstance(value, dict):
        return {storable_text(name): _storable(entry) for name, entry in value.items()}
    return value
