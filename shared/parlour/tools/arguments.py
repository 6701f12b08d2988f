"""Checking a model's arguments against a tool's schema, in words that a model can act on. Pure."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from parlour.infra.errors import InvalidArguments
from parlour.infra.jsonable import JsonObject, canonical

_MOST = 5
"""Mistakes told at once; more would only be noise."""

_LONGEST = 120
"""Characters quoted of a value or a rule."""


def check(schema: JsonObject, arguments: JsonObject) -> None:
    """Raise InvalidArguments, naming each argument that is wrong and what it should be.

    The schema's references are resolved inside it only: nothing is ever fetched.
    """
    validator = Draft202012Validator(schema, registry=Registry())
    errors = sorted(validator.iter_errors(arguments), key=lambda error: list(map(str, error.absolute_path)))
    if errors:
        told = "; ".join(dict.fromkeys(map(_tell, errors[:_MOST])))
        raise InvalidArguments(f"{told}. Correct the arguments and call again.")


def _tell(error: ValidationError) -> str:
    keyword, value, rule = str(error.validator), error.instance, error.validator_value
    if keyword == "additionalProperties" and isinstance(error.schema, Mapping):
        rule = list(error.schema.get("properties", {}))
    said = _WORDS[keyword](value, rule) if keyword in _WORDS else f"does not satisfy {keyword} {_short(rule)}"
    return f"{_place(error)}: {said}"


def _place(error: ValidationError) -> str:
    return error.json_path.removeprefix("$").removeprefix(".") or "arguments"


def _missing(value: Any, required: Any) -> str:
    return f"missing: {', '.join(name for name in required if name not in value)}"


def _unknown(value: Any, known: Any) -> str:
    unknown = [name for name in value if name not in known]
    near = "".join(_meant(name, known) for name in unknown[:_MOST])
    return f"unknown: {_short(', '.join(unknown))}{near}; known: {', '.join(known) or 'none'}"


def _not_one(value: Any, options: Any) -> str:
    words = [option for option in options if isinstance(option, str)]
    return f"{_short(value)} is not one of {_short(options)}{_meant(str(value), words)}"


def _meant(value: str, options: Sequence[str]) -> str:
    """What was probably meant, when something is spelt much like it."""
    near = difflib.get_close_matches(value[:_LONGEST], options, n=1)
    return "".join(f"; did you mean '{one}'?" for one in near)


_WORDS: Mapping[str, Callable[[Any, Any], str]] = {
    "required": _missing,
    "additionalProperties": _unknown,
    "type": lambda value, rule: f"{_short(value)} is not of type {_short(rule)}",
    "enum": _not_one,
    "maximum": lambda value, rule: f"{_short(value)} is more than the maximum of {rule}",
    "minimum": lambda value, rule: f"{_short(value)} is less than the minimum of {rule}",
    "maxLength": lambda value, rule: f"{len(value)} characters are more than the maximum of {rule}",
    "minLength": lambda value, rule: f"{len(value)} characters are less than the minimum of {rule}",
    "maxItems": lambda value, rule: f"{len(value)} items are more than the maximum of {rule}",
    "minItems": lambda value, rule: f"{len(value)} items are less than the minimum of {rule}",
    "pattern": lambda value, rule: f"{_short(value)} does not match {_short(rule)}",
}
"""Per keyword of JSON Schema: the value and the rule it breaks, in words. Values are quoted briefly: a mistake may
be ten thousand characters long."""


def _short(value: object) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
