"""What a recorded conversation runs with instead of the outside: time, ids, queues, buckets, vectors, tools and models.

Everything here gives the same for the same calls, whatever the machine, the process or the moment.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum

from parlour.infra.errors import DatabaseUnavailable, OutcomeUnknown, ProviderRejected, ProviderUnavailable, ToolFailed
from parlour.infra.json_values import JsonObject
from parlour.infra.objects import UploadForm
from parlour.infra.queues import QueueMessage
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage
from parlour.tools.run import ToolContext
from parlour.tools.tool_definition import Tool

_SAME_END = 0xC0DE_C0DE_C0DE
_DIMENSIONS = 512
_SUFFIX = re.compile(r"(?:ing|ed|es|s)$")


class Clock:
    """Time that passes a millisecond at every look."""

    def __init__(self, start: datetime) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def reach(self, moment: datetime) -> None:
        """Go on to this moment, if it has not passed."""
        self.now = max(self.now, moment)


class CountedRandomness:
    """Bytes for version 7 ids that sort by when they were made and end alike.

    The keys of records are made from an id's end, so they do not depend on how many ids were made before.
    """

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, size: int) -> bytes:
        self._count += 1
        high, low = divmod(self._count, 1 << 14)
        return ((high << 64) | (low << 48) | _SAME_END).to_bytes(size)


class Fifo:
    """A queue that forgets no de-duplication id; `waiting` is what nobody took yet."""

    def __init__(self) -> None:
        self.waiting: list[JsonObject] = []
        self._known: set[str] = set()

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        for message in messages:
            if message.deduplication_id not in self._known:
                self._known.add(message.deduplication_id)
                self.waiting.append(message.body)


class DelayedMessages:
    """A queue whose messages come later; `waiting` are they with when they come, in the order of sending."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.waiting: list[tuple[datetime, JsonObject]] = []

    def send(self, body: JsonObject, seconds: float, /) -> None:
        self.waiting.append((self._clock.now + timedelta(seconds=seconds), body))

    def take(self, until: datetime) -> tuple[datetime, JsonObject] | None:
        """The message that comes first, if it comes by then."""
        found = min(self.waiting, key=lambda message: message[0], default=None)
        if found is None or found[0] > until:
            return None
        self.waiting.remove(found)
        return found


class Bucket:
    """Objects by key, in memory."""

    bucket = "oracle"
    origin = "https://files.example.org"

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}

    def make_upload_form(self, key: str, content_type: str, most_bytes: int, seconds: int, /) -> UploadForm:
        policy = f"{content_type}, {most_bytes} bytes, {seconds} s"
        return UploadForm(f"{self.origin}/", {"key": key, "policy": policy})

    def make_download_link(self, key: str, name: str, seconds: int, /) -> str:
        return f"{self.origin}/{key}?name={name}&seconds={seconds}"

    def make_upload_link(self, key: str, seconds: int, /) -> str:
        return f"{self.origin}/{key}?seconds={seconds}"

    def size(self, key: str, /) -> int | None:
        return len(self.objects[key]) if key in self.objects else None

    def get(self, key: str, most_bytes: int, /) -> bytes | None:
        return self.objects[key][: most_bytes + 1] if key in self.objects else None

    def put(self, key: str, data: bytes, _content_type: str, /) -> None:
        self.objects[key] = data

    def delete(self, keys: Sequence[str], /) -> None:
        for key in keys:
            self.objects.pop(key, None)


class Safe:
    """Has every secret."""

    def get(self, reference: str, /) -> str:
        return f"value of {reference}"


class WordEmbedder:
    """A vector per text from the hashes of its words without their endings. Its numbers are whole, so that any order of
    adding them up gives the same."""

    model = "counted-words"
    dimensions = _DIMENSIONS

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.0] * _DIMENSIONS
        vector[0] = 1.0
        for word in re.findall(r"\w+", text.casefold()):
            digest = hashlib.sha256(_SUFFIX.sub("", word).encode()).digest()
            vector[1 + int.from_bytes(digest[:4]) % (_DIMENSIONS - 1)] += 1.0
        return vector


class Office:
    """The site office of the example pack: it does everything that it is asked for, once per key.

    breaks  what the next calls end with instead, in order.
    """

    def __init__(self) -> None:
        self.done: dict[str, JsonObject] = {}
        self.breaks: list[Breakage] = []

    def call(self, context: ToolContext, tool: Tool, arguments: JsonObject, /) -> JsonObject:
        """What the office answers, under its own number."""
        if self.breaks:
            breakage = self.breaks.pop(0)
            raise OutcomeUnknown if breakage is Breakage.UNKNOWN else ToolFailed
        if context.idempotency_key not in self.done:
            number = f"{tool.name[:3].upper()}-{len(self.done) + 101}"
            self.done[context.idempotency_key] = {"number": number, "status": "taken", **arguments}
        return self.done[context.idempotency_key]

    def lookup(self, context: ToolContext, _tool: Tool, /) -> JsonObject | None:
        """What was done under the call's key."""
        return self.done.get(context.idempotency_key)


class Breakage(Enum):
    """What a model, a tool or the database does instead of what it was asked for.

    UNAVAILABLE  the provider does not answer; it may when it is asked again.
    REJECTED     the provider refuses the request.
    DATABASE     the database goes away while the model answers.
    CRASH        our own code breaks while the model answers.
    FAILED       a tool did not do it.
    UNKNOWN      a tool may have done it.
    """

    UNAVAILABLE = "unavailable"
    REJECTED = "rejected"
    DATABASE = "database"
    CRASH = "crash"
    FAILED = "failed"
    UNKNOWN = "unknown"

    def exception(self) -> Exception:
        """What a model's stream raises for it."""
        match self:
            case Breakage.UNAVAILABLE:
                return ProviderUnavailable("the scripted model is away")
            case Breakage.REJECTED:
                return ProviderRejected("the scripted model refuses this")
            case Breakage.DATABASE:
                return DatabaseUnavailable()
            case _:
                return RuntimeError("the script breaks here")


type Answer = Sequence[JsonObject] | Breakage
"""Content blocks, or what happens instead."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A request as a provider was sent it, and whether it answered."""

    tools: Sequence[JsonObject]
    system: Sequence[JsonObject]
    messages: Sequence[JsonObject]
    model: str
    is_answered: bool


@dataclass
class ScriptedModel:
    """Gives the answers that it is given.

    answer   what is said to a request.
    reports  whether it reports the tokens that it read, as a fixed share of the letters; otherwise none.
    sent     what it was asked since somebody looked.
    """

    answer: Callable[[ModelRequest], Answer]
    reports: bool = False
    sent: list[Sent] = field(default_factory=list)
    provider: str = "anthropic"

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        answer = self.answer(request)
        is_answered = not isinstance(answer, Breakage)
        self.sent.append(Sent(request.tools, request.system, request.messages, request.model, is_answered))
        if isinstance(answer, Breakage):
            raise answer.exception()
        yield from (TextDelta(str(block["text"])) for block in answer if block["type"] == "text")
        has_calls = any(block["type"] == "tool_use" for block in answer)
        read = len(str(request.to_json())) // 4 if self.reports else 0
        yield Completion(tuple(answer), "tool_use" if has_calls else "end_turn", TokenUsage(read, 20))
