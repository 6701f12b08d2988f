"""A model that writes Pulses as a test has it, from the documents of the prompt that it is given."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from parlour.infra.json_values import JsonObject
from parlour.models.model import Completion, ModelRequest, StreamPart, TextDelta, TokenUsage

type DocumentTexts = dict[int, str]
"""What stands in a prompt, by number."""

type ScriptedText = Callable[[DocumentTexts], str] | Exception | str
"""What the model answers: made from the documents, an error, or just so."""

_NUMBERED = re.compile(r"^\[(\d+)\] ", re.MULTILINE)


def documents(request: ModelRequest) -> DocumentTexts:
    """The numbered documents of a prompt."""
    material = str(request.system[-1]["text"]).split("</parlour:briefing>")[0]
    parts = _NUMBERED.split(material)[1:]
    texts = (re.split(r"\n\n# [^\n]+\n", text)[0].strip() for text in parts[1::2])
    return dict(zip(map(int, parts[::2]), texts, strict=True))


def find_number(found: DocumentTexts, words: str) -> int:
    """The number of the document that has these words."""
    return next(number for number, text in found.items() if words in text)


def statements_answer(*statements: tuple[str, Sequence[int]]) -> str:
    """Statements as the model is asked to write them."""
    return json.dumps({"statements": [{"text": text, "sources": [*sources]} for text, sources in statements]})


def quote_documents(*words: str) -> Callable[[DocumentTexts], str]:
    """A model that says these words, each of the document that has them."""
    return lambda found: statements_answer(*((word, [find_number(found, word)]) for word in words))


def quote_everything(found: DocumentTexts) -> str:
    """A model that says whatever it was given, of the right document."""
    return statements_answer(*((text.replace("\n", " "), [number]) for number, text in found.items()))


@dataclass
class ScriptedPulseModel:
    """Answers by its script, and with everything it was given once that is over.

    during       called while it answers.
    stop_reason  of the next answers.
    """

    provider: str = "anthropic"
    script: list[ScriptedText] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    during: Callable[[], None] = lambda: None
    stop_reason: str = "end_turn"

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:
        assert seconds_left > 0
        self.requests.append(request)
        writing = self.script.pop(0) if self.script else quote_everything
        self.during()
        if isinstance(writing, Exception):
            raise writing
        text = writing if isinstance(writing, str) else writing(documents(request))
        block: JsonObject = {"type": "text", "text": text}
        yield TextDelta(text)
        yield Completion((block,), self.stop_reason, TokenUsage(2_000, 200, 0, 0))

    @property
    def last_documents(self) -> DocumentTexts:
        """What it was given last."""
        return documents(self.requests[-1])
