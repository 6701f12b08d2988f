"""What stands in for other systems in a test: queues, an embedding model, a model with prepared answers."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from parlour.infra.json_values import JsonObject
from parlour.infra.queues import QueueMessage
from parlour.models.model import Completion, ModelRequest, ReasoningDelta, StreamPart, TextDelta, TokenUsage

type ScriptedAnswer = Sequence[JsonObject] | Exception | Completion
"""The content blocks of one answer, or the error in its place."""


class WordEmbedder:
    """A vector per text from the hashes of its words: texts with common words are near each other."""

    model = "words"
    dimensions = 64

    def embed(self, texts: Sequence[str], /) -> list[list[float]]:
        """Return one vector per text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        vector = [0.001] * self.dimensions
        for word in text.lower().split():
            vector[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % self.dimensions] += 1.0
        return vector


class FakeQueue:
    """Keeps what was sent, once per de-duplication id, like the real one within its five minutes."""

    def __init__(self) -> None:
        self.sent: dict[str, QueueMessage] = {}
        self.error: Exception | None = None

    def send(self, messages: Sequence[QueueMessage], /) -> None:
        """Keep the messages, or raise `error` if a test set it."""
        if self.error:
            raise self.error
        for message in messages:
            self.sent.setdefault(message.deduplication_id, message)


@dataclass
class FakeDelayedQueue:
    """Keeps what is to come later, and in how many seconds."""

    sent: list[tuple[JsonObject, float]] = field(default_factory=list)
    error: Exception | None = None

    def send(self, body: JsonObject, seconds: float, /) -> None:
        """Keep the message, or raise `error` if a test set it."""
        if self.error:
            raise self.error
        self.sent.append((body, seconds))


class ScriptedModel:
    """Answers with what the test put in: content blocks, an answer with its stop reason, or an error."""

    provider = "anthropic"

    def __init__(self) -> None:
        self.script: list[ScriptedAnswer] = []
        self.requests: list[ModelRequest] = []
        self.before_completion: Callable[[], None] = lambda: None

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        """Yield the next answer of the script."""
        del seconds_left
        self.requests.append(request)
        if not self.script:
            raise AssertionError("the model is asked once more than the test has answers")
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        blocks = answer.blocks if isinstance(answer, Completion) else tuple(answer)
        for block in blocks:
            if block["type"] == "text":
                yield TextDelta(str(block["text"]))
            if block["type"] == "thinking":
                yield ReasoningDelta(str(block["thinking"]))
        self.before_completion()
        if isinstance(answer, Completion):
            yield answer
            return
        wants_tools = any(block["type"] == "tool_use" for block in blocks)
        yield Completion(blocks, "tool_use" if wants_tools else "end_turn", TokenUsage(100, 20, 0, 0))
