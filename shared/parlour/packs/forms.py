"""The two forms of a part: as its row has it, and as its file says it."""

from collections.abc import Mapping
from typing import Any

from parlour.infra.jsonable import Json, JsonObject
from parlour.packs.part import Part
from parlour.principal import LEVELS

_LEVEL_FIELDS = frozenset({"clearance", "classification"})


def stored(part: Part) -> JsonObject:
    """A part as its row has it: every field of the part itself, and inside it what is not a default."""
    fields = type(part).model_fields.items()
    return {field.alias or name: inner(getattr(part, name)) for name, field in fields}


def said(part: Part) -> JsonObject:
    """A part as its file says it: fields in the order of the format, defaults left out, levels in words."""
    return {name: _in_words(name, value) for name, value in _told(part).items()}


def from_row(row: Mapping[str, Json]) -> JsonObject:
    """A row's columns with levels in words, so that they can be read like a file."""
    return {name: _in_words(name, value) for name, value in row.items()}


def _in_words(name: str, value: Json) -> Json:
    return LEVELS[value] if name in _LEVEL_FIELDS and isinstance(value, int) else value


def _told(part: Part) -> JsonObject:
    fields = type(part).model_fields.items()
    named = ((field.alias or name, getattr(part, name), field.default) for name, field in fields)
    return {name: inner(value) for name, value, default in named if value != default}


def inner(value: Any) -> Json:
    """What stands in a field, as JSON: of a part, what is not a default."""
    if isinstance(value, Part):
        return _told(value)
    if isinstance(value, Mapping):
        return {str(name): inner(value[name]) for name in sorted(value)}
    if isinstance(value, tuple | list):
        return [inner(item) for item in value]
    return value  # type: ignore[no-any-return]
