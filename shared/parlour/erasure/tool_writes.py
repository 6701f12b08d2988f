"""What the arguments of a call wrote into a record, as far as it still stands there. Pure."""

import re
from collections.abc import Iterable, Iterator

from parlour.erasure import quotations
from parlour.infra.json_values import Json, JsonObject

_MIN_VALUE_CHARS = 4
"""Characters from which on a value tells of anything wherever it stands."""

_LONG_VALUE_CHARS = 12
"""Characters from which on a single small word is more than a state or a kind that any record may have."""

_HANDLE = re.compile(r"[a-z][a-z0-9_]*/\S+")


def values_still_written(arguments: Json, properties: JsonObject) -> JsonObject:
    """Return the properties that a call's arguments name and that still have the values that it gave them."""
    return {name: value for name, value in _named_values(arguments, properties) if properties[name] == value}


def searchable_values(values: Iterable[Json]) -> list[str]:
    """Values that can be looked for elsewhere."""
    return [text for value in values if isinstance(value, str) and len(text := value.strip()) >= _MIN_VALUE_CHARS]


def distinctive_values(values: Iterable[str]) -> list[str]:
    """Return what identifies some values wherever they occur: the values and their distinctive words.

    Names of other records and words that any record may have are left out.
    """
    said = [value.strip() for value in values if not _HANDLE.fullmatch(value.strip())]
    whole = [one for one in said if len(one) >= _MIN_VALUE_CHARS and ("\n" not in one) and not _is_generic(one)]
    parts = (part for one in said if len(one) > _LONG_VALUE_CHARS for part in quotations.quote_search_terms(one))
    return list(dict.fromkeys([*(one[: quotations.MAX_LINE_CHARS] for one in whole), *parts]))


def _is_generic(value: str) -> bool:
    return (
        len(value) < _LONG_VALUE_CHARS
        and value.islower()
        and not any(letter.isdigit() or letter.isspace() for letter in value)
    )


def argument_texts(arguments: Json) -> set[str]:
    """Every text among the arguments."""
    return set(_iterate_texts(arguments))


def _named_values(arguments: Json, properties: JsonObject) -> Iterator[tuple[str, Json]]:
    if isinstance(arguments, list):
        for one in arguments:
            yield from _named_values(one, properties)
    elif isinstance(arguments, dict):
        for name, value in arguments.items():
            if name in properties and value is not None and not isinstance(value, dict):
                yield name, value
            yield from _named_values(value, properties)


def _iterate_texts(arguments: Json) -> Iterator[str]:
    if isinstance(arguments, str):
        yield arguments
    elif isinstance(arguments, list):
        for one in arguments:
            yield from _iterate_texts(one)
    elif isinstance(arguments, dict):
        for one in arguments.values():
            yield from _iterate_texts(one)
