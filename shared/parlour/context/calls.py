"""Layer 12: the tool calls of the current turn and what they returned, fitted anew before every step."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from parlour.context import tokens
from parlour.context.segment import Layer, Segment, foreign, measure
from parlour.infra.jsonable import Json, JsonObject, canonical

type _Key = tuple[int, str]
"""A result's round and call id."""

_NOTE = " ... shortened to fit; ask again for a narrower part"
_LEAST = 40
"""A result is never cut below this many tokens: less says nothing."""


@dataclass(frozen=True, slots=True)
class Round:
    """One step of the model that asked for tools, as it was, with a result for each call (by its id)."""

    blocks: tuple[JsonObject, ...]
    results: tuple[tuple[str, JsonObject], ...]


def segment(rounds: Sequence[Round], allowance: int) -> Segment:
    """The rounds as assistant and user messages; the largest results are shortened until all fit `allowance` tokens."""
    texts = {(number, call): _text(result) for number, one in enumerate(rounds) for call, result in one.results}
    around = measure(_messages(rounds, dict.fromkeys(texts, "")))
    messages = _messages(rounds, _fit(texts, allowance - around))
    return Segment(Layer.CALLS, "append_only", "messages", messages, measure(messages))


def _fit(texts: dict[_Key, str], allowance: int) -> dict[_Key, str]:
    sizes = {key: _size(text) for key, text in texts.items()}
    fitted = dict(texts)
    for key in sorted(sizes, key=lambda one: (-sizes[one], one)):
        over = sum(sizes.values()) - allowance
        if over <= 0:
            break
        fitted[key] = _shortened(texts[key], max(_LEAST, sizes[key] - over))
        sizes[key] = _size(fitted[key])
    return fitted


def _shortened(text: str, keep: int) -> str:
    """Whole documents are dropped from the end of a search result before any text is cut: half a JSON cites nothing."""
    documents = _documents(text)
    while documents and _size(_as_documents(documents)) > keep:
        documents = documents[:-1]
    if documents:
        return _as_documents(documents)
    cut = tokens.shortened(text, keep)
    while cut and _size(cut + _NOTE) > keep:
        cut = cut[: len(cut) * 4 // 5]
    return cut + _NOTE


def _size(text: str) -> int:
    """The tokens of a result as it is sent, quoted inside JSON."""
    return tokens.count(canonical(text))


def _documents(text: str) -> list[Json] | None:
    try:
        found = json.loads(text).get("documents")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, list) and found else None


def _as_documents(documents: list[Json]) -> str:
    return _text({"documents": documents, "note": "more was found; ask again for a narrower part"})


def _messages(rounds: Sequence[Round], texts: dict[_Key, str]) -> tuple[JsonObject, ...]:
    return tuple(message for number, one in enumerate(rounds) for message in _pair(number, one, texts))


def _pair(number: int, one: Round, texts: dict[_Key, str]) -> tuple[JsonObject, JsonObject]:
    results: list[Json] = [
        {"type": "tool_result", "tool_use_id": call, "content": texts[number, call], "is_error": not _ok(result)}
        for call, result in one.results
    ]
    return {"role": "assistant", "content": list(one.blocks)}, {"role": "user", "content": results}


def _ok(result: JsonObject) -> bool:
    return result.get("ok") is not False


def _text(result: JsonObject) -> str:
    return foreign(json.dumps(result, ensure_ascii=False, separators=(", ", ": ")))
