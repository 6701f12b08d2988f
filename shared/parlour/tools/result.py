"""What a tool call came to, as the model is told. Pure."""

import math
from dataclasses import dataclass

from parlour.infra.errors import ModelError
from parlour.infra.json_values import Json, JsonObject, canonical_json

MAX_RESULT_CHARS = 24_000
"""Characters of a result that a model is given, about 6,000 tokens: twice what a turn's tool results may take of its
prompt (the budget shortens further), and little enough to be kept in the journal."""

MAX_DETAIL_CHARS = 600
"""Characters of what the developer of a tool reads about a failure."""

_MAX_DEPTH = 100
"""Lists and objects inside each other; no model makes sense of half as many."""

_SHORTENING_STEPS = ((8_000, 200), (4_000, 100), (2_000, 50), (1_000, 25), (500, 12), (200, 6))
"""Tried in turn: characters per text, items per list."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """The answer to one call. `content` is what the model reads: the tool's own object, or, when not `ok`,
    {"ok": false, "code", "retryable", "message"}. A tool's own object that says "ok": false is {"ok": false, "result":
    the object}. `detail` is for the developer of the tool: what failed, in at most MAX_DETAIL_CHARS characters."""

    ok: bool
    content: JsonObject
    code: str = ""
    retryable: bool = False
    detail: str = ""

    @property
    def text(self) -> str:
        """The content as the text of a tool_result block; the same content always gives the same bytes."""
        return canonical_json(self.content)


def success_result(content: JsonObject) -> ToolResult:
    """Return a tool's answer without what a database cannot store, shortened if it is too long.

    An answer that says "ok": false is wrapped: it still reads as a failure, but not as an error of Parlour's own.
    """
    storable = _storable_object(content)
    if storable.get("ok") is False:
        storable = {"ok": False, "result": storable}
    return ToolResult(True, shorten_to(storable, MAX_RESULT_CHARS))


def error_result(error: ModelError) -> ToolResult:
    """Return what the model reads of its mistake or of a tool's failure."""
    told: JsonObject = {
        "ok": False,
        "code": error.code,
        "retryable": error.retryable,
        "message": _storable_text(str(error)),
    }
    detail = _storable_text(error.detail)[:MAX_DETAIL_CHARS]
    return ToolResult(False, told, error.code, error.retryable, detail)


def shorten_to(content: JsonObject, max_chars: int) -> JsonObject:
    """`content` with its longest texts and lists cut until its JSON has at most `most` characters, and a note."""
    size = len(canonical_json(content))
    if size <= max_chars:
        return content
    note: JsonObject = {"note": f"shortened from {size} characters; ask for less, or more precisely, to see the rest"}
    for text, items in _SHORTENING_STEPS:
        if len(canonical_json(shorter := {**_shorten_object(content, text, items), **note})) <= max_chars:
            return shorter
    return {"text": canonical_json(content)[: max_chars // 2 - len(canonical_json(note))], **note}


def _storable_object(value: JsonObject, depth: int = 0) -> JsonObject:
    return {_storable_text(name): _storable(part, depth + 1) for name, part in value.items()}


def _storable(value: Json, depth: int) -> Json:
    """Null characters, halves of surrogate pairs and numbers that are none have no place in a jsonb column, nor has
    what is nested so deeply that whoever reads it runs out of stack."""
    match value:
        case list() | dict() if depth > _MAX_DEPTH:
            return "(nested too deeply)"
        case str():
            return _storable_text(value)
        case float() if not math.isfinite(value):
            return str(value)
        case list():
            return [_storable(item, depth + 1) for item in value]
        case dict():
            return _storable_object(value, depth)
        case _:
            return value


def _storable_text(value: str) -> str:
    return value.replace("\x00", " ").encode("utf-8", "replace").decode()


def _shorten(value: Json, text: int, items: int) -> Json:
    match value:
        case str() if len(value) > text:
            return f"{value[:text]}... [{len(value) - text} more characters]"
        case list():
            more: list[Json] = [f"... [{len(value) - items} more]"] if len(value) > items else []
            return [_shorten(item, text, items) for item in value[:items]] + more
        case dict():
            return _shorten_object(value, text, items)
        case _:
            return value


def _shorten_object(value: JsonObject, text: int, items: int) -> JsonObject:
    return {name: _shorten(part, text, items) for name, part in value.items()}
