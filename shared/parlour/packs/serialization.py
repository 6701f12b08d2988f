"""The two forms of a part: as its row has it, and as its file says it."""

from collections.abc import Mapping
from typing import Any

from parlour.infra.json_values import Json, JsonObject
from parlour.packs.pack_model import PackModel
from parlour.principal import LEVEL_NAMES

_LEVEL_FIELDS = frozenset({"clearance", "classification"})


def to_row(part: PackModel) -> JsonObject:
    """Return a part as its row: every field of the part itself, and inside it what is not a default."""
    fields = type(part).model_fields.items()
    return {field.alias or name: to_json_value(getattr(part, name)) for name, field in fields}


def to_file_fields(part: PackModel) -> JsonObject:
    """Return a part as its file: fields in the order of the format, defaults left out, levels in words."""
    return {name: _level_word(name, value) for name, value in _fields_without_defaults(part).items()}


def levels_to_words(row: Mapping[str, Json]) -> JsonObject:
    """Return a row's columns with levels in words, so that they can be read like a file."""
    return {name: _level_word(name, value) for name, value in row.items()}


def _level_word(name: str, value: Json) -> Json:
    return LEVEL_NAMES[value] if name in _LEVEL_FIELDS and isinstance(value, int) else value


def _fields_without_defaults(part: PackModel) -> JsonObject:
    fields = type(part).model_fields.items()
    named = ((field.alias or name, getattr(part, name), field.default) for name, field in fields)
    return {name: to_json_value(value) for name, value, default in named if value != default}


def to_json_value(value: Any) -> Json:
    """Return a field's value as JSON; of a part, what is not a default."""
    if isinstance(value, PackModel):
        return _fields_without_defaults(value)
    if isinstance(value, Mapping):
        return {str(name): to_json_value(value[name]) for name in value}
    if isinstance(value, tuple | list):
        return [to_json_value(item) for item in value]
    return value  # type: ignore[no-any-return]
