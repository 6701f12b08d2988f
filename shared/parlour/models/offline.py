"""The stand-in for where no model key is configured: it searches, quotes what it found with its source, and says so.

It is deterministic: the same request gets the same answer, tool call ids included.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from parlour.infra.jsonable import JsonObject, canonical, digest
from parlour.models.extract import Document, quotes
from parlour.models.request import Completed, ModelRequest, Part, TextDelta, Usage, blocks_of, objects
from parlour.models.route import OFFLINE
from parlour.models.words import content_words, vocabulary, words

SEARCH = "search_knowledge"
"""The one tool it knows how to use."""

NOTE = "Offline stand-in (no model key is configured): I can only quote what I find."

_GREETING = "Hello! I am the offline stand-in: no model key is configured, so I can only quote documents. Ask away."
_WELCOME = "You are welcome!"
_NOTHING = "I found nothing in the documents that answers this. Naming the record, document or date may help."
_BROKEN = "The search did not work just now. Please ask again in a moment."
_NO_SEARCH = "I have no documents to search here."

_THANKS = vocabulary("thanks thank thankyou thx cheers dhanyavad shukriya धन्यवाद शुक्रिया")
_COURTESY = _THANKS | vocabulary(
    "hi hello hey dear sir madam team greetings good morning afternoon evening night day ok okay great perfect super"
    " nice noted understood fine cool bye goodbye namaste namaskar ji vanakkam नमस्ते வணக்கம்"
)
_ABOUT_ITSELF = re.compile(
    r"\b(who|what) are you\b|\bwhat can you do\b|\bare you an? (bot|human|ai|person)\b|\byour name\b"
)
_POINTERS = vocabulary("it its that this they them their those these he she him his her there same")

_FEW_WORDS = 3
"""A question with fewer words of content leans on the one before it."""

_LONGEST_QUERY = 300
_CHUNK_WORDS = 4

_BRACKETED = re.compile(r"\[(\d+)\]")
"""A document's own footnote marks would read as citations of ours."""

_TAIL = re.compile(r"<parlour:tail>.*?(?:</parlour:tail>|\Z)", re.DOTALL)
"""What the turn adds after the user's words (time, reminders): not something the user said."""


@dataclass(frozen=True, slots=True)
class _Talk:
    """What matters of a request: what was asked, the last thing asked before that, what the search brought since."""

    asked: str
    before: str
    results: tuple[JsonObject, ...]

    @property
    def context(self) -> str:
        """The question before, when this one cannot be understood without it."""
        is_vague = len(content_words(self.asked)) < _FEW_WORDS or not _POINTERS.isdisjoint(_lower(self.asked))
        return self.before if is_vague else ""


class OfflineModel:
    """Answers from `search_knowledge` alone. `count` counts the tokens of a text."""

    provider = OFFLINE

    def __init__(self, count: Callable[[str], int] = lambda text: -(-len(text) // 4)) -> None:
        self._count = count

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[Part]:  # noqa: ARG002
        """One search, then an answer; it takes no time and never fails."""
        prompt = canonical(request.to_json())
        block = _answer(request, _talk(request.messages))
        text = block.get("text")
        if isinstance(text, str):
            yield from map(TextDelta, _chunks(text))
        usage = Usage(self._count(prompt), self._count(canonical(block)))
        yield Completed((block,), "end_turn" if isinstance(text, str) else "tool_use", usage)


def _answer(request: ModelRequest, talk: _Talk) -> JsonObject:
    if _is_courtesy(talk):
        return _text(_WELCOME if _THANKS & _lower(talk.asked) else _GREETING)
    if talk.results:
        return _text(f"{NOTE}\n\n{_quoted(talk)}")
    if any(tool.get("name") == SEARCH for tool in request.tools):
        return _search(request, talk)
    return _text(f"{NOTE}\n\n{_NO_SEARCH}")


def _search(request: ModelRequest, talk: _Talk) -> JsonObject:
    query = " ".join(content_words(f"{talk.asked} {talk.context}"))[:_LONGEST_QUERY]
    call = f"toolu_offline_{digest(request.to_json())[:24]}"
    return {"type": "tool_use", "id": call, "name": SEARCH, "input": {"query": query}}


def _quoted(talk: _Talk) -> str:
    documents = [document for result in talk.results for document in _documents(result)]
    found = quotes(talk.asked, list({document.number: document for document in documents}.values()), talk.context)
    if found:
        return "\n".join(f"- {_BRACKETED.sub(r'(\1)', quote.text)} [{quote.number}]" for quote in found)
    return _BROKEN if all(result.get("is_error") for result in talk.results) else _NOTHING


def _talk(messages: Sequence[JsonObject]) -> _Talk:
    said = [(place, text) for place, message in enumerate(messages) if (text := _words_of_user(message))]
    place, asked = said[-1] if said else (-1, "")
    earlier = (text for _, text in reversed(said[:-1]) if _meant(text) - _COURTESY)
    since = (block for message in messages[place + 1 :] for block in blocks_of(message))
    results = tuple(block for block in since if block.get("type") == "tool_result")
    return _Talk(asked, next(earlier, ""), results)


def _words_of_user(message: JsonObject) -> str:
    blocks = blocks_of(message)
    if message.get("role") != "user" or any(block.get("type") == "tool_result" for block in blocks):
        return ""
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return _TAIL.sub("", "\n".join(texts)).strip()


def _documents(result: JsonObject) -> list[Document]:
    return [
        Document(number, _about(entry), str(entry.get("contents", "")))
        for content in _contents(result)
        for entry in objects(content.get("documents"))
        if isinstance(number := entry.get("document"), int)
    ]


def _contents(result: JsonObject) -> list[JsonObject]:
    content = result.get("content")
    texts = [content] if isinstance(content, str) else [block.get("text") for block in objects(content)]
    read = [_read(text) for text in texts if isinstance(text, str)]
    return [value for value in read if isinstance(value, dict)]


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _about(entry: JsonObject) -> str:
    metadata = entry.get("metadata")
    values = metadata.values() if isinstance(metadata, dict) else ()
    return " ".join([str(entry.get("title", "")), *(value for value in values if isinstance(value, str))])


def _is_courtesy(talk: _Talk) -> bool:
    """Whether there is nothing to look up: a greeting, thanks, a question about the assistant, or no words at all."""
    if _ABOUT_ITSELF.search(talk.asked.lower()):
        return True
    meant = _meant(talk.asked)
    return meant <= _COURTESY and bool(meant or not talk.context)


def _meant(text: str) -> set[str]:
    return {word.lower() for word in content_words(text)}


def _lower(text: str) -> set[str]:
    return {word.lower() for word in words(text)}


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _chunks(text: str) -> Iterator[str]:
    """The text a few words at a time; together they are the text, spaces and line ends included."""
    pieces = re.findall(r"\S+\s*|\s+", text)
    for start in range(0, len(pieces), _CHUNK_WORDS):
        yield "".join(pieces[start : start + _CHUNK_WORDS])
