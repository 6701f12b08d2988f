"""A prompt's part written out with the hashes of its words in their place, in one go. Pure.

The part's fields are known to pydantic, which writes them out natively; only for a field that holds words, or JSON of
others, is a function of ours called. Looking through what came of it for such fields took three times as long.
"""

import functools
import json
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, cast

from parlour.infra.jsonable import JsonObject

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import SchemaSerializer

WORDS = frozenset(
    {"text", "title", "floating", "heartbeat", "about", "shorter", "pieces", "recap", "reminders", "tools"}
)
OBJECTS = frozenset({"called", "rounds"})
"""Fields whose values, or whose lists' members, are texts; and those whose members are JSON objects."""

_in_order = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
"""An object as text with its keys as they stand: a tool's result is told in the order of its keys."""

type Put = Callable[[str], str]
"""Takes a text and says what stands for it."""


def to_json(value: object) -> JsonObject:
    """A part as JSON."""
    found: JsonObject = adapter(cast("Hashable", type(value))).dump_python(value, mode="json", exclude_defaults=True)
    return found


def written(value: object, put: Put) -> bytes:
    """A part as JSON, with what `put` says in the place of each of its words."""
    found: bytes = _serializer(cast("Hashable", type(value))).to_json(value, exclude_defaults=True, context=put)
    return found


@functools.cache
def adapter(kind: Hashable) -> "TypeAdapter[Any]":
    """What reads and writes parts of that kind."""
    from pydantic import TypeAdapter  # noqa: PLC0415 - heavy; the settings have it loaded by then

    return TypeAdapter(cast("type[Any]", kind))


@functools.cache
def _serializer(kind: Hashable) -> "SchemaSerializer":
    from pydantic_core import SchemaSerializer  # noqa: PLC0415 - as above

    return SchemaSerializer(_put_for_words(adapter(kind).core_schema))


def _put_for_words(schema: Any) -> Any:
    """The schema with our functions for the fields that hold words, and its sequences as the lists that they become:
    pydantic's own way calls a function for each of their members."""
    if isinstance(schema, list):
        return [_put_for_words(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "enum":
        kept = {name: schema[name] for name in ("ref",) if name in schema}
        return {"type": schema["sub_type"], **kept}  # its members are texts or numbers themselves
    if schema.get("type") == "json-or-python" and schema["json_schema"]["type"] == "list":
        return _through(list, _put_for_words(schema["json_schema"]))
    found = {name: one if name == "cls" else _put_for_words(one) for name, one in schema.items() if name != "metadata"}
    if schema.get("type") == "dataclass-field" and schema["name"] in WORDS | OBJECTS:
        put = _words if schema["name"] in WORDS else _objects
        inner, own = schema["schema"], _through(put, {"type": "any"}, info_arg=True)
        found["schema"] = {**inner, "schema": own} if inner["type"] == "default" else own
    return found


def _through(function: Callable[..., object], then: Mapping[str, object], *, info_arg: bool = False) -> dict[str, Any]:
    serialization = {"type": "function-plain", "function": function, "return_schema": then, "info_arg": info_arg}
    return {"type": "any", "serialization": serialization}


def _words(value: Any, info: Any) -> Any:
    if value is None:
        return None
    return info.context(value) if isinstance(value, str) else [info.context(one) for one in value]


def _objects(value: Any, info: Any) -> Any:
    if isinstance(value, str):
        return value
    return [info.context(_in_order(one if isinstance(one, dict) else to_json(one))) for one in value]
