"""The model that answers where no model key is configured: it searches, quotes what it finds and cites it.

Asked for the records of one type ("Which tasks are due?"), it searches that type a second time and lists them.

It is deterministic: the same request gets the same answer, tool call ids included.
"""

import json
import re
from collections.abc import Iterable, Iterator

from parlour.infra.errors import OutcomeUnknown
from parlour.infra.json_values import JsonObject, canonical_digest, canonical_json
from parlour.models.model import (
    Completion,
    ModelRequest,
    StreamPart,
    TextDelta,
    TokenUsage,
    content_blocks,
    object_items,
)
from parlour.models.model_routing import OFFLINE_PROVIDER
from parlour.models.offline_quotes import choose_quotes, find_listed_type, list_records
from parlour.text.words import content_words, word_list

#: The one tool that it calls.
SEARCH = "search_knowledge"

#: The first line of every answer that quotes.
NOTE = "Offline model (no model key is configured): I can only quote what I find."

OFFLINE_CALL_PREFIX = "toolu_offline_"
"""How the ids of its tool calls begin."""

_GREETING = "Hello! I am the offline model: no model key is configured, so I can only quote documents. Ask away."
_WELCOME = "You are welcome. Ask again whenever you need something."
_NOTHING = "I found nothing about {about}. Naming the record, document or date may help."
_BROKEN = "The search did not work just now. Please ask again in a moment."
_NO_SEARCH = "I have no documents to search here."
_UNREADABLE = "I can only read what you write. Ask in words, and I look it up."

_ABOUT_ITSELF = (
    "I search the documents and records here and quote what I find, with its source. Without a model key I can do"
    " nothing else. Ask for a name, a date or a clause."
)
_ASKS_ABOUT_IT = re.compile(r"\b(?:what|how) can you (?:do|help)\b", re.IGNORECASE)

_THANKS = word_list(
    "thanks thank thx danke dankeschön merci gracias obrigado obrigada dhanyavad shukriya धन्यवाद शुक्रिया आभार நன்றி"
)
_COURTESIES = _THANKS | word_list(
    "hi hello hey dear sir madam team good morning afternoon evening night ok okay great bye hallo guten tag morgen"
    " abend bonjour bonsoir salut hola buenos buenas días tardes namaste नमस्ते नमस्कार வணக்கம்"
)

#: What the runtime adds to the user's words: tagged layers, and lines in brackets about attachments and tool results.
_ADDED = re.compile(
    r"<parlour:([a-z]+)>.*?(?:</parlour:\1>|\Z)|^\[(?:The user also sent|What became of a tool call) [^\n]*\]$",
    re.DOTALL | re.MULTILINE,
)

_LATE_RESULT = re.compile(r"\[What became of a tool call [^\n{]*(\{[^\n]*\})\]")

#: A document's own footnote marks, which would read as citations.
_BRACKETED = re.compile(r"\[(\d+)\]")

#: The bytes of a picture, which count for nothing.
_PICTURE = re.compile(r'"data":"[^"]*"')

#: "Thanks, that was very helpful": what says more asks for something, too.
_MAX_THANKS_WORDS = 8

#: A question with more words of its own is about something else.
_MAX_WORDS_ABOUT_IT = 2

_MAX_QUERY_CHARS = 1_000

#: How many words of the question it repeats when it found nothing.
_MAX_REPEATED_WORDS = 6

#: How many records of one type it lists: as many as one search returns.
_MAX_LISTED = 10


class OfflineModel:
    """A model that needs no key. It calls `search_knowledge` with the question and quotes the best passages."""

    provider = OFFLINE_PROVIDER

    def stream(self, request: ModelRequest, /, *, seconds_left: float) -> Iterator[StreamPart]:  # noqa: ARG002
        """Search first, then answer from the results. Takes no time and never fails; tokens are estimated."""
        prompt = canonical_json(request.to_json())
        blocks = answer_offline(request)
        text = str(blocks[0].get("text", ""))
        yield from map(TextDelta, re.findall(r"(?:\S+\s*){1,4}", text))
        usage = TokenUsage(len(_PICTURE.sub("", prompt)) // 4, len(canonical_json([*blocks])) // 4)
        yield Completion(blocks, "end_turn" if text else "tool_use", usage)


def own_words(blocks: Iterable[JsonObject]) -> str:
    """Return what the user wrote in a message's blocks, without what the runtime added."""
    texts = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
    return _ADDED.sub("", "\n".join(texts)).strip()


def find_late_result(blocks: Iterable[JsonObject]) -> tuple[str, JsonObject] | None:
    """Return tool and result that a message reports which nobody wrote; the runtime keeps users from forging one."""
    match = _LATE_RESULT.search("\n".join(str(block.get("text", "")) for block in blocks))
    try:
        told = json.loads(match[1]) if match else {}
    except ValueError:
        return None
    result = told.get("result")
    return (str(told.get("tool")), result) if isinstance(result, dict) else None


def answer_offline(request: ModelRequest) -> tuple[JsonObject, ...]:
    """Return the blocks of its answer: one call of the search, or a text."""
    question, is_first, results = _conversation(request)
    if not question:
        return _text(_late_text(request) or _UNREADABLE)
    if fixed := _fixed_answer(question, is_first):
        return _text(fixed)
    listed = find_listed_type(question, _documents(results[:1]))
    if results and (listed is None or len(results) > 1 or request.tool_choice == "none"):
        return _text(f"{NOTE}\n\n{_quoted(question, results, listed)}")
    if all(tool.get("name") != SEARCH for tool in request.tools):
        return _text(f"{NOTE}\n\n{_NO_SEARCH}")
    call_id = f"{OFFLINE_CALL_PREFIX}{canonical_digest([canonical_json(request.to_json())])[:24]}"
    given: JsonObject = {"query": question[:_MAX_QUERY_CHARS]}
    if listed:
        given |= {"scope": "type", "of": listed, "limit": _MAX_LISTED}
    return ({"type": "tool_use", "id": call_id, "name": SEARCH, "input": given},)


def _fixed_answer(question: str, is_first: bool) -> str:
    """Return what is answered without a search: to thanks, a greeting, or a question about the model; "" for others."""
    words = {word for word in content_words(question) if any(map(str.isalnum, word))}
    if words & _THANKS and "?" not in question and len(question.split()) <= _MAX_THANKS_WORDS:
        return _WELCOME
    if words <= _COURTESIES and (words or is_first):
        return _GREETING
    return _ABOUT_ITSELF if _ASKS_ABOUT_IT.search(question) and len(words) <= _MAX_WORDS_ABOUT_IT else ""


def _late_text(request: ModelRequest) -> str:
    """Return what came of a tool call whose result the last message reports; "" if it reports none."""
    found = find_late_result(content_blocks(request.messages[-1])) if request.messages else None
    if found is None:
        return ""
    tool, result = found
    name = tool.replace("_", " ")
    if "answers_now" in result:
        return f"{result['answers_now']} answers here from now on. What may I look up for you?"
    if result.get("ok") is not False:
        return f"Done: {name}."
    if result.get("code") == OutcomeUnknown.code:
        return f"It is not known whether this was done: {name}. A person finds out; please do not ask for it again."
    return f"This was not done: {name}."


def _conversation(request: ModelRequest) -> tuple[str, bool, list[JsonObject]]:
    """Return the user's last words, whether they are the first, and the tool results that came since."""
    results: list[JsonObject] = []
    asked: list[str] = []
    for message in request.messages:
        blocks = content_blocks(message)
        found = [block for block in blocks if block.get("type") == "tool_result"]
        results += found
        if message.get("role") == "user" and not found:
            asked.append(own_words(blocks))
            results = []
    return asked[-1] if asked else "", len(asked) < 2, results


def _quoted(question: str, results: list[JsonObject], listed: str | None) -> str:
    found = list_records(listed, _documents(results[1:])) if listed else []
    quotes = found or choose_quotes(question, _documents(results))
    lines = [f"- {_BRACKETED.sub(r'(\1)', quote.text)} [{quote.number}]" for quote in quotes]
    if lines:
        return "\n".join(lines)
    if all(result.get("is_error") for result in results):
        return _BROKEN
    terms = dict.fromkeys(word.strip("\"'()?!.,;:\u0964") for word in question.split() if content_words(word))
    return _NOTHING.format(about=", ".join([*terms][:_MAX_REPEATED_WORDS]) or "this")


def _documents(results: list[JsonObject]) -> list[JsonObject]:
    """Return the numbered documents of search results, in the order found."""
    documents: list[JsonObject] = []
    for result in results:
        content = result.get("content")
        for block in [{"text": content}] if isinstance(content, str) else object_items(content):
            try:
                value = json.loads(str(block.get("text")))
            except ValueError:
                continue
            documents += object_items(value.get("documents")) if isinstance(value, dict) else []
    return documents


def _text(text: str) -> tuple[JsonObject, ...]:
    return ({"type": "text", "text": text},)
