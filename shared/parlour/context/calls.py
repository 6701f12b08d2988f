"""Layer 12: the tool calls of the current turn and what they returned, fitted anew before every step."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from parlour.context.segment import Block, Layer, Role, Segment, foreign, whole
from parlour.context.tokens import Meter
from parlour.infra.jsonable import Json, JsonObject, canonical

type _Key = tuple[int, str]
"""A result's round and call id."""

_NOTE = " ... shortened to fit; ask again for a narrower part"
_LEAST = 40
"""A result is never cut below this many tokens: less says nothing."""

_ENOUGH = 0.25
"""The share of all room that the newest results are content with, so that earlier ones need not change."""

_NEWEST, _LEFT_TO_GROW = 0.4, 0.6
"""When they must: the newest may fill the one share, and all together the other, so that it does not happen again with
the next step."""


@dataclass(frozen=True, slots=True)
class Round:
    """One step of the model that asked for tools, as it was, with a result for each call (by its id)."""

    blocks: tuple[JsonObject, ...]
    results: tuple[tuple[str, JsonObject], ...]


@dataclass(frozen=True, slots=True)
class Fitted:
    """Layer 12 as it is sent, and which results had to be shortened, as (round, call id)."""

    segment: Segment
    shortened: tuple[tuple[int, str], ...] = ()


def fit(meter: Meter, rounds: Sequence[Round], allowance: int) -> Fitted:
    """The rounds as assistant and user messages; results are shortened until all fit `allowance` tokens.

    What the model asked for stays as it was, and a result keeps a few words, even where the allowance is smaller. The
    same allowance gives earlier rounds the same bytes from step to step, as long as the newest has enough room beside
    them: so the cache keeps them.
    """
    texts = {(number, call): _text(result) for number, one in enumerate(rounds) for call, result in one.results}
    fitted: dict[_Key, str] = {}
    for number in range(len(rounds)):
        told, so_far = rounds[: number + 1], {key: text for key, text in texts.items() if key[0] <= number}
        longest = {**so_far, **fitted}
        if _sent(meter, told, longest) <= allowance:  # counted in parts it may come to a little more
            fitted = longest
        else:
            fitted = _added(meter, so_far, fitted, allowance - _sent(meter, told, dict.fromkeys(so_far, "")))
    segment = Segment(Layer.CALLS, "append_only", "messages", tuple(_blocks(meter, rounds, fitted)))
    return Fitted(segment, tuple(key for key in texts if fitted[key] != texts[key]))


def _sent(meter: Meter, rounds: Sequence[Round], texts: dict[_Key, str]) -> int:
    return sum(block.tokens for block in _blocks(meter, rounds, texts))


def _added(meter: Meter, texts: dict[_Key, str], fitted: dict[_Key, str], room: int) -> dict[_Key, str]:
    """`texts` in `room` tokens, of which all but the newest were fitted before: they stay so, or, where the newest had
    too little room then, all are fitted anew, with room for what comes next."""
    newest = {key: text for key, text in texts.items() if key not in fitted}
    left = room - _sizes(meter, fitted)
    if left >= min(_sizes(meter, newest), max(int(room * _ENOUGH), len(newest) * _LEAST)):
        return {**fitted, **_fit(meter, newest, left)}
    latest = _fit(meter, newest, int(room * _NEWEST))
    older = {key: text for key, text in texts.items() if key in fitted}
    anew = {**_fit(meter, older, int(room * _LEFT_TO_GROW) - _sizes(meter, latest)), **latest}
    return anew if _sizes(meter, anew) <= room else _fit(meter, texts, room)


def _sizes(meter: Meter, texts: dict[_Key, str]) -> int:
    return sum(_size(meter, text) for text in texts.values())


def _fit(meter: Meter, texts: dict[_Key, str], allowance: int) -> dict[_Key, str]:
    sizes = {key: _size(meter, text) for key, text in texts.items()}
    fitted = dict(texts)
    for key in sorted(sizes, key=lambda one: (-sizes[one], one)):
        over = sum(sizes.values()) - allowance
        if over <= 0 or sizes[key] <= _LEAST:
            break
        fitted[key] = _shortened(meter, texts[key], max(_LEAST, sizes[key] - over))
        sizes[key] = _size(meter, fitted[key])
    return fitted


def _shortened(meter: Meter, text: str, keep: int) -> str:
    """Whole documents are dropped from the end of a search result before any text is cut: half a JSON cites nothing."""
    documents = _documents(text)
    while documents and _size(meter, _as_documents(documents)) > keep:
        documents = documents[:-1]
    if documents:
        return _as_documents(documents)
    cut = meter.shortened(text, keep)
    while cut and _size(meter, cut + _NOTE) > keep:
        cut = cut[: len(cut) * 4 // 5]
    return cut + _NOTE


def _size(meter: Meter, text: str) -> int:
    """The tokens of a result as it is sent, quoted inside JSON."""
    return meter.count(canonical(text))


def _documents(text: str) -> list[Json] | None:
    try:
        found = json.loads(text).get("documents")
    except (ValueError, AttributeError):
        return None
    return found if isinstance(found, list) and found else None


def _as_documents(documents: list[Json]) -> str:
    return _text({"documents": documents, "note": "more was found; ask again for a narrower part"})


def _blocks(meter: Meter, rounds: Sequence[Round], texts: dict[_Key, str]) -> list[Block]:
    return [block for number, one in enumerate(rounds) for block in _pair(meter, number, one, texts)]


def _pair(meter: Meter, number: int, one: Round, texts: dict[_Key, str]) -> list[Block]:
    asked: Role = "assistant"
    answered: Role = "user"
    return [
        *(whole(meter, block, asked) for block in one.blocks),
        *(whole(meter, _result(call, texts[number, call], result), answered) for call, result in one.results),
    ]


def _result(call: str, text: str, result: JsonObject) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": result.get("ok") is False}


def _text(result: JsonObject) -> str:
    return foreign(json.dumps(result, ensure_ascii=False, separators=(", ", ": ")))
