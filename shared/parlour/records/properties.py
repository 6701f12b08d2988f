"""Whether a record's properties are what its kind says. Pure.

A kind's properties are a mapping of name to `{"type", "choices", "required", "label", "description", "unit"}`; types
are text, number, integer, boolean, date (ISO text) and choice.
"""

from collections.abc import Callable, Mapping
from datetime import date

from parlour.infra.errors import InvalidRequest
from parlour.infra.json_values import Json, JsonObject, canonical_json
from parlour.text.spelling_suggestions import did_you_mean, list_options

SOURCES_PROPERTY = "sources"
"""Where what a record says was read: a list of `{"title", "locator", "page"}`. Any record may have it."""

_SYSTEM = frozenset({"id", "key", "version"})
_SYSTEM_FAMILIES = ("pulse_", "stale_", "created_", "updated_")
_LONGEST_TEXT = 20_000
_LARGEST = 64_000
_LARGEST_NUMBER = 10**18
_MOST_SOURCES = 20
_SOURCE_FIELDS = frozenset({"title", "locator", "page"})


def is_reserved(name: str) -> bool:
    """Whether a name is that of a field which only Parlour writes."""
    return name in _SYSTEM or name.startswith(_SYSTEM_FAMILIES)


def merge_properties(
    defined: JsonObject, before: JsonObject, given: JsonObject, type_key: str = "record"
) -> JsonObject:
    """Return a record's properties after a change; a property given as None is removed.

    InvalidRequest names every property that does not fit: unknown (with the nearest known one), the system's own, of a
    wrong type, none of the choices, or required and missing.
    """
    problems = [f"{name}: {message}" for name, value in given.items() if (message := _problem(defined, name, value))]
    after: JsonObject = {name: value for name, value in {**before, **given}.items() if value is not None}
    problems += [
        f"{name}: is missing; a {type_key} requires it"
        for name, known in defined.items()
        if isinstance(known, dict) and known.get("required") and name not in after
    ]
    if not problems and len(canonical_json(after)) > _LARGEST:
        problems = [f"properties: are longer than {_LARGEST:,} characters together; put long text into a document"]
    if problems:
        raise InvalidRequest("; ".join(problems))
    return after


def validate_filter(defined: JsonObject, where: Mapping[str, str]) -> None:
    """Whether a kind has the properties, and the choices, that somebody looks for; InvalidRequest when not."""
    for name, value in where.items():
        if name not in defined:
            raise InvalidRequest(
                f"{name}: is not a property of this type{did_you_mean(name, defined)} ({_known_names(defined)})"
            )
        choices = choices_of(defined[name])
        if choices and value not in choices:
            raise InvalidRequest(f"{name}: must be one of {', '.join(choices)}{did_you_mean(value, choices)}")


def value_problem(kind: str, choices: tuple[str, ...], value: object) -> str | None:
    """Return what is wrong with a property's value, as a predicate ("must be a number"); None when nothing is."""
    fits, expected = _TYPES.get(kind, _TYPES["text"])
    if kind == "choice":
        return None if value in choices else f"must be one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
    return None if fits(value) else f"must be {expected}"


def choices_of(known: Json) -> tuple[str, ...]:
    """Return what a property of the type choice may be."""
    found = known.get("choices") if isinstance(known, dict) else None
    return tuple(str(choice) for choice in found) if isinstance(found, list) else ()


def _problem(defined: JsonObject, name: str, value: Json) -> str | None:
    if is_reserved(name):
        return "is reserved by Parlour and cannot be written"
    if name == SOURCES_PROPERTY and SOURCES_PROPERTY not in defined:
        fine = value is None or (
            isinstance(value, list) and len(value) <= _MOST_SOURCES and all(map(_is_source, value))
        )
        return None if fine else f'must be a list of at most {_MOST_SOURCES} {{"title", "locator", "page"}}'
    known = defined.get(name)
    if not isinstance(known, dict):
        return f"is not a property of this type{did_you_mean(name, defined)} ({_known_names(defined)})"
    if value is None:
        return None
    if isinstance(value, str) and not _is_text(value):
        return f"must be at most {_LONGEST_TEXT:,} characters, without NUL or half characters"
    return value_problem(str(known.get("type", "text")), choices_of(known), value)


def _known_names(defined: JsonObject) -> str:
    return f"available: {list_options(defined, 30)}"


def _is_source(value: Json) -> bool:
    if not isinstance(value, dict) or not value.get("title") or value.keys() - _SOURCE_FIELDS:
        return False
    return all(isinstance(part, int) or (isinstance(part, str) and _is_text(part)) for part in value.values())


def _is_text(value: str) -> bool:
    """Whether the database can hold it: no NUL, no half of a surrogate pair."""
    halves = any(0xD800 <= ord(character) < 0xE000 for character in value)
    return len(value) <= _LONGEST_TEXT and "\0" not in value and not halves


def _is_number(value: object) -> bool:
    """No NaN either: it is not at most anything."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST_NUMBER


def _is_date(value: object) -> bool:
    try:
        return isinstance(value, str) and date.fromisoformat(value).isoformat() == value
    except ValueError:
        return False


_TYPES: Mapping[str, tuple[Callable[[object], bool], str]] = {
    "text": (lambda value: isinstance(value, str), "text; put numbers in quotes"),
    "number": (_is_number, "a number, without unit and thousands separators"),
    "integer": (lambda value: _is_number(value) and isinstance(value, int), "a whole number"),
    "boolean": (lambda value: isinstance(value, bool), "true or false"),
    "date": (_is_date, "an ISO date like 2026-02-17"),
    "choice": (lambda value: isinstance(value, str), "one of the choices"),
}
