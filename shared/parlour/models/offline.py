"""The stand-in for where no model key is configured: it searches, quotes what it found with its source, and says so.

It is deterministic: the same request gets the same answer, tool call ids included.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, dropwhile

from parlour.infra.jsonable import Json, JsonObject, canonical, digest
from parlour.models.extract import Document, Quote, quotes
from parlour.models.question import parts
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
_BLIND = "I cannot look at what you sent along. Ask in words, and I look it up."

_THANKS = vocabulary("thanks thank thankyou thx cheers dhanyavad shukriya धन्यवाद शुक्रिया")
_COURTESY = _THANKS | vocabulary(
    "hi hello hey dear sir madam team greetings good morning afternoon evening night day ok okay great perfect super"
    " nice noted understood fine cool bye goodbye namaste namaskar ji vanakkam नमस्ते வணக்கம்"
)
_ABOUT_ITSELF = re.compile(
    r"\b(who|what) are you\b|\bwhat can you do\b|\bare you an? (bot|human|ai|person)\b|\byour name\b"
)
_POINTERS = vocabulary("it its that this they them their those these he she him his her same")
_GOES_ON = re.compile(r"(?:and|but|or|then|also|what about|how about)\b", re.IGNORECASE)
_NAMES = re.compile(r"\b(?:the|a|an|our|my|your|which)\s+\w", re.IGNORECASE)

_FEW_WORDS = 3
"""With fewer words of content, the second of two questions in one breath leans on the first."""

_LONGEST_QUERY = 300

_TOGETHER = 3
"""Documents that each of several searches asks for: what they bring shares the space of one turn's tool results, and a
search that brings more than its part loses all of it to the others."""

_CHUNK_WORDS = 4

_BRACKETED = re.compile(r"\[(\d+)\]")
"""A document's own footnote marks would read as citations of ours."""

_ADDED = re.compile(r"<parlour:([a-z]+)>.*?(?:</parlour:\1>|\Z)|^\[The user also sent .*\]$", re.DOTALL | re.MULTILINE)
"""What the turn adds to the user's words (what is remembered and recalled, time, reminders, what came along): not
something the user said."""

_LOOKED_AT = 6_400
"""Letters that a picture counts for: about what one costs a model that sees it."""


@dataclass(frozen=True, slots=True)
class _Talk:
    """What matters of a request: what was asked, the last thing asked before that, what the search brought since; and
    whether something was sent along now."""

    asked: str
    before: str
    results: tuple[JsonObject, ...]
    sent: bool = False

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The single questions in what was asked, each with the one it cannot be understood without, if any."""
        first, *others = [part for part in map(_plain, parts(self.asked)) if _meant(part) - _COURTESY] or [self.asked]
        leaning = ((part, first if _is_short(part) or _points(part) else "") for part in others)
        return [(first, self.before if _is_vague(first) else ""), *leaning]


class OfflineModel:
    """Answers from `search_knowledge` alone. `count` counts the tokens of a text."""

    provider = OFFLINE

    def __init__(self, count: Callable[[str], int] = lambda text: -(-len(text) // 4)) -> None:
        self._count = count

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[Part]:  # noqa: ARG002
        """One search for each thing asked, then an answer; it takes no time and never fails."""
        prompt = canonical(_unseen(request.to_json()))
        blocks = _answer(request, _talk(request.messages))
        texts = [text for block in blocks if isinstance(text := block.get("text"), str)]
        for text in texts:
            yield from map(TextDelta, _chunks(text))
        usage = Usage(self._count(prompt), self._count(canonical(list(blocks))))
        yield Completed(blocks, "end_turn" if texts else "tool_use", usage)


def _answer(request: ModelRequest, talk: _Talk) -> tuple[JsonObject, ...]:
    if not talk.asked and talk.sent:
        return _text(f"{NOTE}\n\n{_BLIND}")
    if _is_courtesy(talk):
        return _text(_WELCOME if _THANKS & _lower(talk.asked) else _GREETING)
    if talk.results:
        return _text(f"{NOTE}\n\n{_quoted(talk)}")
    if any(tool.get("name") == SEARCH for tool in request.tools):
        limit: JsonObject = {"limit": _TOGETHER} if len(talk.parts) > 1 and _takes(request, "limit") else {}
        return tuple(_search(request, limit, *part) for part in talk.parts)
    return _text(f"{NOTE}\n\n{_NO_SEARCH}")


def _takes(request: ModelRequest, argument: str) -> bool:
    """Whether the search there is takes that argument."""
    schemas = (tool.get("input_schema") for tool in request.tools if tool.get("name") == SEARCH)
    known = (schema.get("properties") for schema in schemas if isinstance(schema, dict))
    return any(isinstance(names, dict) and argument in names for names in known)


def _search(request: ModelRequest, limit: JsonObject, asked: str, context: str) -> JsonObject:
    call = f"toolu_offline_{digest([request.to_json(), asked])[:24]}"
    given: JsonObject = {"query": _query(asked, context)[:_LONGEST_QUERY]}
    return {"type": "tool_use", "id": call, "name": SEARCH, "input": given | limit}


def _query(asked: str, context: str) -> str:
    """The words that carry meaning; of a question with a single one all, "when" and "come" too."""
    own = content_words(asked)
    if len(own) == 1 and not context:
        return asked
    lent = context if _points(asked) or not own else _names(context) or context
    return " ".join(content_words(f"{asked} {lent}"))


def _quoted(talk: _Talk) -> str:
    lines = dict.fromkeys(_line(quote) for quote in _found(talk))
    if lines:
        return "\n".join(lines)
    return _BROKEN if all(result.get("is_error") for result in talk.results) else _NOTHING


def _found(talk: _Talk) -> list[Quote]:
    """What answers each part: its own search comes first, what the others brought after it."""
    searches = [_documents(result) for result in talk.results]
    is_one = len(talk.parts) == 1
    found: list[Quote] = []
    for place, (asked, context) in enumerate(talk.parts):
        documents = list(chain(*searches[place:], *searches[:place]))
        once = {document.number: document for document in reversed(documents)}
        best = [quote for quote in quotes(asked, list(reversed(once.values())), context) if quote not in found]
        found += best if is_one else best[:1]
    return found


def _line(quote: Quote) -> str:
    return f"- {_BRACKETED.sub(r'(\1)', quote.text)} [{quote.number}]"


def _talk(messages: Sequence[JsonObject]) -> _Talk:
    said = [(place, text) for place, message in enumerate(messages) if (text := _words_of_user(message))]
    opening = [message for message in messages if _is_opening(message)][-1:]
    if any(_came_along(message) and not _words_of_user(message) for message in opening):
        return _Talk("", "", (), sent=True)
    place, asked = said[-1] if said else (-1, "")
    earlier = (text for _, text in reversed(said[:-1]) if _meant(text) - _COURTESY)
    since = (block for message in messages[place + 1 :] for block in blocks_of(message))
    results = tuple(block for block in since if block.get("type") == "tool_result")
    return _Talk(asked, next(earlier, ""), results)


def _is_opening(message: JsonObject) -> bool:
    return message.get("role") == "user" and all(block.get("type") != "tool_result" for block in blocks_of(message))


def _came_along(message: JsonObject) -> bool:
    """Whether a message brought something beside words: a picture, a file, or the name of one."""
    blocks = blocks_of(message)
    added = (found[1] for block in blocks for found in _ADDED.finditer(str(block.get("text", ""))))
    return any(block.get("type") == "image" for block in blocks) or any(tag in {None, "file"} for tag in added)


def _unseen(value: Json) -> Json:
    """What was sent, a picture's bytes left out."""
    if isinstance(value, list):
        return [_unseen(one) for one in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") == "image":
        return {"type": "image", "source": "." * _LOOKED_AT}
    return {name: _unseen(one) for name, one in value.items()}


def _words_of_user(message: JsonObject) -> str:
    if not _is_opening(message):
        return ""
    blocks = blocks_of(message)
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return _ADDED.sub("", "\n".join(texts)).strip()


def _documents(result: JsonObject) -> list[Document]:
    return [
        Document(number, _about(entry), str(entry.get("contents", "")), str(entry.get("title", "")))
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
    return f"{entry.get('title', '')} {entry.get('metadata', '')}"


def _is_courtesy(talk: _Talk) -> bool:
    """Whether there is nothing to look up: a greeting, thanks, a question about the assistant, or no words at all."""
    if _ABOUT_ITSELF.search(talk.asked.lower()):
        return True
    meant = _meant(talk.asked)
    return meant <= _COURTESY and bool(meant or not talk.before)


def _meant(text: str) -> set[str]:
    return {word.lower() for word in content_words(text)}


def _lower(text: str) -> set[str]:
    return {word.lower() for word in words(text)}


def _plain(asked: str) -> str:
    """Without the greeting and thanks before it."""
    kept = dropwhile(lambda word: {name.lower() for name in words(word)} <= _COURTESY, asked.split())
    return " ".join(kept)


def _is_vague(asked: str) -> bool:
    """Whether it leans on the question before: it points there, goes on from there, or names nothing."""
    return _points(asked) or bool(_GOES_ON.match(asked)) or (len(content_words(asked)) < 2 and not _NAMES.search(asked))


def _is_short(asked: str) -> bool:
    return len(content_words(asked)) < _FEW_WORDS


def _names(text: str) -> str:
    """The codes and names in a question, such as C4 or Ida: of what it is about, they find the most."""
    _, *others = words(text) or [""]
    return " ".join(word for word in others if any(letter.isupper() for letter in word) and word != "I")


def _points(asked: str) -> bool:
    return not _POINTERS.isdisjoint(_lower(asked))


def _text(text: str) -> tuple[JsonObject, ...]:
    return ({"type": "text", "text": text},)


def _chunks(text: str) -> Iterator[str]:
    """The text a few words at a time; together they are the text, spaces and line ends included."""
    pieces = re.findall(r"\S+\s*|\s+", text)
    for start in range(0, len(pieces), _CHUNK_WORDS):
        yield "".join(pieces[start : start + _CHUNK_WORDS])
