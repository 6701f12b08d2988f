"""What the arguments of a call wrote into a record, as far as it still stands there. Pure."""

import re
from collections.abc import Iterable, Iterator

from parlour.forgetting import echoes
from parlour.infra.jsonable import Json, JsonObject

_LEAST = 4
"""Characters from which on a value tells of anything wherever it stands."""

_LONG = 12
"""Characters from which on a single small word is more than a state or a kind that any record may have."""

_HANDLE = re.compile(r"[a-z][a-z0-9_]*/\S+")


def still(arguments: Json, properties: JsonObject) -> JsonObject:
    """The properties that a call's arguments name, wherever in them, and that have the values that it gave them."""
    return {name: value for name, value in _named(arguments, properties) if properties[name] == value}


def words(values: Iterable[Json]) -> list[str]:
    """Values that can be looked for elsewhere."""
    return [text for value in values if isinstance(value, str) and len(text := value.strip()) >= _LEAST]


def telling(values: Iterable[str]) -> list[str]:
    """What tells of some values wherever it stands: them, but for the names of other records and words that any record
    may have, and their telling words."""
    said = [value.strip() for value in values if not _HANDLE.fullmatch(value.strip())]
    whole = [one for one in said if len(one) >= _LEAST and ("\n" not in one) and not _is_plain(one)]
    parts = (part for one in said if len(one) > _LONG for part in echoes.needles(one))
    return list(dict.fromkeys([*(one[: echoes.LONGEST] for one in whole), *parts]))


def _is_plain(value: str) -> bool:
    return len(value) < _LONG and value.islower() and not any(letter.isdigit() or letter.isspace() for letter in value)


def texts(arguments: Json) -> set[str]:
    """Every text among the arguments."""
    return set(_texts(arguments))


def _named(arguments: Json, properties: JsonObject) -> Iterator[tuple[str, Json]]:
    if isinstance(arguments, list):
        for one in arguments:
            yield from _named(one, properties)
    elif isinstance(arguments, dict):
        for name, value in arguments.items():
            if name in properties and value is not None and not isinstance(value, dict):
                yield name, value
            yield from _named(value, properties)


def _texts(arguments: Json) -> Iterator[str]:
    if isinstance(arguments, str):
        yield arguments
    elif isinstance(arguments, list):
        for one in arguments:
            yield from _texts(one)
    elif isinstance(arguments, dict):
        for one in arguments.values():
            yield from _texts(one)
