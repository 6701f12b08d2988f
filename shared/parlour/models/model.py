"""What every model is asked, and what every model answers: the seam that the adapters share.

Content blocks keep the shape of Anthropic's Messages API (`text`, `tool_use`, `tool_result`, `thinking`, with an
optional `cache_control` mark): that shape is what the journal stores, and an adapter for another provider
translates it on its own side.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

from parlour.infra.json_values import Json, JsonObject

MAX_CACHE_BREAKPOINTS = 4
"""How many `cache_control` marks a request may carry; providers refuse more."""

type AttemptOutcome = Literal["ok", "unavailable", "rejected", "stopped"]
"""What an attempt came to; `stopped`: the caller did not want the answer any more."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One inference: everything a provider is sent, in the order in which it is cached.

    max_tokens  of the answer.
    tools       definitions: name, description, input_schema.
    system      text blocks.
    messages    role and content, oldest first; the last one is the user's.
    thinking    how the model thinks before it answers, as Anthropic's API takes it; None: as it does by default.
    tool_choice "none": the model may not call them. They are sent all the same: providers refuse a conversation with
                calls whose tools they do not know, and the cache begins with them.
    """

    model: str
    max_tokens: int
    tools: tuple[JsonObject, ...]
    system: tuple[JsonObject, ...]
    messages: tuple[JsonObject, ...]
    thinking: JsonObject | None = None
    tool_choice: Literal["auto", "none"] = "auto"

    def to_json(self) -> JsonObject:
        """Return the request as one JSON object, in the order of caching; this is hashed and counted."""
        return {
            "model": self.model,
            "max_tokens": self.max_tokens,
            **({"thinking": self.thinking} if self.thinking else {}),
            **({"tool_choice": {"type": "none"}} if self.tools and self.tool_choice == "none" else {}),
            "tools": [*self.tools],
            "system": [*self.system],
            "messages": [*self.messages],
        }


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider reports them; `input_tokens` leaves out what was read from or written to the cache."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A further piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """A further piece of what the model thinks before it answers. It is no part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing new for a moment: the caller may look at other things."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The whole answer; the last part of every stream that did not fail.

    blocks       as the provider sent them, thinking included, untouched: they go back to it as they are.
    stop_reason  `end_turn`, `tool_use`, `max_tokens`, `refusal`, ...; after `max_tokens` a tool's input may be cut.
    """

    blocks: tuple[JsonObject, ...]
    stop_reason: str
    usage: TokenUsage


@dataclass(frozen=True, slots=True)
class ModelAttempt:
    """One try of one model, whatever came of it; `outcome` is the one that is journalled.

    first_token_ms  until the first text came; None when there was none.
    problem         why it failed: status and kind of error, never a payload; empty when it did not.
    """

    provider: str
    model: str
    outcome: AttemptOutcome
    latency_ms: int
    first_token_ms: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StreamReset:
    """The text streamed so far belongs to a failed attempt: forget it, another one starts."""


type StreamPart = TextDelta | ReasoningDelta | Waiting | Completion
"""What a model's stream is made of: any number of deltas and pauses, then exactly one Completion."""

type FallbackStreamPart = StreamPart | ModelAttempt | StreamReset
"""What a stream with retries is made of (parlour.models.fallback)."""


class Model(Protocol):
    """A provider of models.

    `stream` raises ProviderUnavailable when trying again may help and ProviderRejected when it cannot, at any point
    of the iteration; an iterator that is closed early hangs up. It never takes longer than `seconds_left`.
    """

    @property
    def provider(self) -> str:
        """What routing, the journal and the price list call it."""

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]: ...


def count_cache_breakpoints(request: ModelRequest) -> int:
    """How many blocks of the request carry a `cache_control` mark."""
    return sum(map(_count_breakpoints, (*request.tools, *request.system, *request.messages)))


def content_blocks(message: JsonObject) -> list[JsonObject]:
    """Return a message's content as blocks; a plain string is one text block."""
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return object_items(content)


def object_items(value: Json | None) -> list[JsonObject]:
    """Return the JSON objects in a list; none when it is no list."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _count_breakpoints(value: JsonObject) -> int:
    nested: Iterable[JsonObject] = object_items(value.get("content"))
    return bool(value.get("cache_control")) + sum(map(_count_breakpoints, nested))
