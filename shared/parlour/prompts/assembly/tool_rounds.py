"""Layer 12: the tool calls of the current turn and what they returned, fitted anew before every step."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, cast

from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.prompts.assembly.segment import Block, Layer, Segment, escape_untrusted, opaque_block, text_block
from parlour.prompts.assembly.stored_text import StoredJson, StoredText, stored_as
from parlour.text.token_counter import TokenCounter

type _ResultKey = tuple[int, str]
"""A result's round and call id."""

ASKED = "approval_asked"
"""The code in the result of a call about which a person was asked."""

_TRUNCATION_NOTE = " ... shortened to fit; ask again for a narrower part"
_LIST_NOTE = "more was found; ask again for a narrower part"
_MAX_NAMED, _MAX_TITLE_CHARS = 6, 80
"""What a shortened list names of what it left out."""

_MIN_RESULT_TOKENS = 40
"""A result is never cut below this many tokens: less says nothing."""

_SUFFICIENT_SHARE = 0.25
"""The share of all room that the newest results are content with, so that earlier ones need not change."""

_NEWEST_SHARE, _FILL_SHARE = 0.4, 0.8
"""When they must: the newest may fill the one share, and all together the other, so that it does not happen again with
the next step."""


def _result_block(call: str, text: str, result: JsonObject) -> JsonObject:
    return {"type": "tool_result", "tool_use_id": call, "content": text, "is_error": is_failure(result)}


def is_failure(result: JsonObject) -> bool:
    """Return whether a result says that the call failed; one that waits for a person did not."""
    return result.get("ok") is False and not is_waiting(result)


def is_waiting(result: JsonObject) -> bool:
    """Return whether a result says that a person is asked about the call."""
    return result.get("ok") is False and result.get("code") == ASKED


def _result_text(result: JsonObject) -> str:
    return escape_untrusted(json.dumps(result, ensure_ascii=False, separators=(", ", ": ")))


def _to_full_block(result: tuple[str, JsonObject]) -> JsonObject:
    return _result_block(result[0], _result_text(result[1]), result[1])


def _from_full_block(block: JsonObject) -> tuple[str, JsonObject]:
    return str(block["tool_use_id"]), cast("JsonObject", json.loads(str(block["content"])))


StoredResult = Annotated[tuple[str, JsonObject], *stored_as(_to_full_block, _from_full_block)]
"""A call's id and its result, stored as the block that is sent where it need not be shortened."""


@dataclass(frozen=True, slots=True)
class ToolRound:
    """One step of the model that asked for tools, as it was, with a result for each call (by its id).

    messages  what the user wrote meanwhile, where it joined the turn after these results: id and text.
    """

    blocks: tuple[StoredJson, ...]
    results: tuple[StoredResult, ...]
    messages: tuple[tuple[str, StoredText], ...] = ()


@dataclass(frozen=True, slots=True)
class FittedRounds:
    """Layer 12 as it is sent, and which results had to be shortened, as (round, call id)."""

    segment: Segment
    shortened: tuple[tuple[int, str], ...] = ()


def fit_rounds(counter: TokenCounter, rounds: Sequence[ToolRound], max_tokens: int) -> FittedRounds:
    """Return the rounds as assistant and user messages; results are shortened until all fit `max_tokens`.

    The model's requests stay as they were, and a result keeps a few words, even where the limit is smaller. The same
    limit gives earlier rounds the same bytes from step to step, as long as the newest has enough room beside them, so
    that the cache keeps them. A document that an earlier result has is not repeated but named by its number.
    """
    named, has_repeats = _name_repeated_documents(rounds)
    fitted = _fit(counter, named, max_tokens)
    # What was shortened may lack a document that a later result names: then each result has its own again.
    return _fit(counter, rounds, max_tokens) if has_repeats and fitted.shortened else fitted


def _name_repeated_documents(rounds: Sequence[ToolRound]) -> tuple[list[ToolRound], bool]:
    """Return the rounds with only the number of each document that an earlier result has, and whether there is one."""
    shown: dict[int, Json] = {}
    has_repeats = False

    def shorten(result: JsonObject) -> JsonObject:
        nonlocal has_repeats
        documents = result.get("documents")
        if not isinstance(documents, list):
            return result
        named: list[Json] = []
        for document in documents:
            number = document.get("n") if isinstance(document, dict) else None
            is_repeat = isinstance(number, int) and shown.get(number) == document
            has_repeats |= is_repeat
            named.append({"n": number, "as_above": True} if is_repeat else document)
            if isinstance(number, int):
                shown.setdefault(number, document)
        return {**result, "documents": named}

    shortened = [
        replace(tool_round, results=tuple((call, shorten(result)) for call, result in tool_round.results))
        for tool_round in rounds
    ]
    return shortened, has_repeats


def _fit(counter: TokenCounter, rounds: Sequence[ToolRound], max_tokens: int) -> FittedRounds:
    texts = {(number, call): _result_text(result) for number, one in enumerate(rounds) for call, result in one.results}
    fitted: dict[_ResultKey, str] = {}
    for number in range(len(rounds)):
        told, so_far = rounds[: number + 1], {key: text for key, text in texts.items() if key[0] <= number}
        longest = {**so_far, **fitted}
        if _rounds_tokens(counter, told, longest) <= max_tokens:  # counted in parts it may come to a little more
            fitted = longest
        else:
            fitted = _add_newest(
                counter, so_far, fitted, max_tokens - _rounds_tokens(counter, told, dict.fromkeys(so_far, ""))
            )
    segment = Segment(Layer.CALLS, "append_only", "messages", tuple(_blocks(counter, rounds, fitted)))
    return FittedRounds(segment, tuple(key for key in texts if fitted[key] != texts[key]))


def _rounds_tokens(counter: TokenCounter, rounds: Sequence[ToolRound], texts: dict[_ResultKey, str]) -> int:
    return sum(block.tokens for block in _blocks(counter, rounds, texts))


def _add_newest(
    counter: TokenCounter, texts: dict[_ResultKey, str], fitted: dict[_ResultKey, str], room: int
) -> dict[_ResultKey, str]:
    """`texts` in `room` tokens, of which all but the newest were fitted before: they stay so, or, where the newest had
    too little room then, all are fitted anew, with room for what comes next."""
    newest = {key: text for key, text in texts.items() if key not in fitted}
    left = room - _total_size(counter, fitted)
    if left >= min(_total_size(counter, newest), max(int(room * _SUFFICIENT_SHARE), len(newest) * _MIN_RESULT_TOKENS)):
        return {**fitted, **_fit_texts(counter, newest, left)}
    latest = _fit_texts(counter, newest, int(room * _NEWEST_SHARE))
    older = {key: text for key, text in texts.items() if key in fitted}
    anew = {**_fit_texts(counter, older, int(room * _FILL_SHARE) - _total_size(counter, latest)), **latest}
    return anew if _total_size(counter, anew) <= room else _fit_texts(counter, texts, room)


def _total_size(counter: TokenCounter, texts: dict[_ResultKey, str]) -> int:
    return sum(_quoted_tokens(counter, text) for text in texts.values())


def _fit_texts(counter: TokenCounter, texts: dict[_ResultKey, str], allowance: int) -> dict[_ResultKey, str]:
    """Return the texts in the allowance: each has an equal share of it, and what shorter ones leave of theirs."""
    sizes = {key: _quoted_tokens(counter, text) for key, text in texts.items()}
    fitted = dict(texts)
    room = allowance
    for position, key in enumerate(sorted(sizes, key=lambda key: (sizes[key], key))):
        share = max(_MIN_RESULT_TOKENS, room // (len(sizes) - position))
        if sizes[key] > share:
            fitted[key] = _shorten_result(counter, texts[key], share)
        room -= _quoted_tokens(counter, fitted[key])
    return fitted


def _shorten_result(counter: TokenCounter, text: str, keep: int) -> str:
    """Whole items are dropped from the end of a list before any text is cut: half a JSON cites nothing.

    The titles of what was dropped are named without its numbers, which cite nothing that the model has read.
    """
    result, name = _parse_list(text)
    items = result.get(name)
    if isinstance(items, list):
        for count in range(len(items) - 1, 0, -1):
            dropped: list[Json] = [*filter(None, map(_title, items[count : count + _MAX_NAMED]))]
            shortened = _result_text({**result, name: items[:count], "left_out": dropped, "note": _LIST_NOTE})
            if _quoted_tokens(counter, shortened) <= keep:
                return shortened
    cut = counter.truncate(text, keep)
    while cut and _quoted_tokens(counter, cut + _TRUNCATION_NOTE) > keep:
        cut = cut[: len(cut) * 4 // 5]
    return cut + _TRUNCATION_NOTE


def _title(item: Json) -> str:
    """Return the title and place of an item that is left out; "" for one without."""
    if not isinstance(item, dict):
        return ""
    named = (str(item.get(name) or "") for name in ("title", "name", "metadata"))
    return " · ".join(filter(None, named))[:_MAX_TITLE_CHARS]


def _quoted_tokens(counter: TokenCounter, text: str) -> int:
    """Return the tokens of a result as it is sent, quoted inside JSON."""
    return counter.count(canonical_json(text))


def _parse_list(text: str) -> tuple[JsonObject, str]:
    """Return a result and the name of its longest list; "" without a list."""
    try:
        result = json.loads(text)
    except ValueError:
        return {}, ""
    lists = {name: value for name, value in result.items() if isinstance(value, list) and value}
    return result, max(lists, key=lambda name: len(canonical_json(lists[name])), default="")


def _blocks(counter: TokenCounter, rounds: Sequence[ToolRound], texts: dict[_ResultKey, str]) -> list[Block]:
    blocks: list[Block] = []
    for number, one in enumerate(rounds):
        blocks += [opaque_block(counter, block, "assistant") for block in one.blocks]
        for call, result in one.results:
            blocks.append(opaque_block(counter, _result_block(call, texts[number, call], result), "user"))
        blocks += [text_block(counter, escape_untrusted(text), role="user") for _, text in one.messages]
    return blocks
