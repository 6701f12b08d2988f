"""Checking a model's arguments against a tool's schema, in words that a model can act on. Pure."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from referencing import Registry

from parlour.infra.errors import InvalidArguments
from parlour.infra.json_values import JsonObject, canonical_json

_MAX_ERRORS = 5
"""Mistakes told at once; more would only be noise."""

_MAX_QUOTED_CHARS = 120
"""Characters quoted of a value or a rule."""


def validate_arguments(schema: JsonObject, arguments: JsonObject) -> None:
    """Raise InvalidArguments, naming each argument that is wrong and what it should be.

    The schema's references are resolved inside it only: nothing is ever fetched.
    """
    validator = Draft202012Validator(schema, registry=Registry())
    errors = sorted(validator.iter_errors(arguments), key=lambda error: list(map(str, error.absolute_path)))
    if errors:
        told = "; ".join(dict.fromkeys(map(_describe_error, errors[:_MAX_ERRORS])))
        raise InvalidArguments(f"{told}. Correct the arguments and call again.")


def _describe_error(error: ValidationError) -> str:
    keyword, value, rule = str(error.validator), error.instance, error.validator_value
    if keyword == "additionalProperties" and isinstance(error.schema, Mapping):
        rule = list(error.schema.get("properties", {}))
    said = (
        _DESCRIPTIONS[keyword](value, rule)
        if keyword in _DESCRIPTIONS
        else f"does not satisfy {keyword} {_shortened(rule)}"
    )
    return f"{(error.json_path.removeprefix('$').removeprefix('.') or 'arguments')}: {said}"


def _describe_missing(value: Any, required: Any) -> str:
    return f"missing: {', '.join(name for name in required if name not in value)}"


def _describe_unknown(value: Any, known: Any) -> str:
    unknown = [name for name in value if name not in known]
    near = "".join(_did_you_mean(name, known) for name in unknown[:_MAX_ERRORS])
    return f"unknown: {_shortened(', '.join(unknown))}{near}; known: {', '.join(known) or 'none'}"


def _describe_not_in_enum(value: Any, options: Any) -> str:
    words = [option for option in options if isinstance(option, str)]
    return f"{_shortened(value)} is not one of {_shortened(options)}{_did_you_mean(str(value), words)}"


def _did_you_mean(value: str, options: Sequence[str]) -> str:
    """Return a hint at the option that is spelt nearly like the value."""
    near = difflib.get_close_matches(value[:_MAX_QUOTED_CHARS], options, n=1)
    return "".join(f"; did you mean '{one}'?" for one in near)


_DESCRIPTIONS: Mapping[str, Callable[[Any, Any], str]] = {
    "required": _describe_missing,
    "additionalProperties": _describe_unknown,
    "type": lambda value, rule: f"{_shortened(value)} is not of type {_shortened(rule)}",
    "enum": _describe_not_in_enum,
    "maximum": lambda value, rule: f"{_shortened(value)} is more than the maximum of {rule}",
    "minimum": lambda value, rule: f"{_shortened(value)} is less than the minimum of {rule}",
    "maxLength": lambda value, rule: f"{len(value)} characters are more than the maximum of {rule}",
    "minLength": lambda value, rule: f"{len(value)} characters are less than the minimum of {rule}",
    "maxItems": lambda value, rule: f"{len(value)} items are more than the maximum of {rule}",
    "minItems": lambda value, rule: f"{len(value)} items are less than the minimum of {rule}",
    "pattern": lambda value, rule: f"{_shortened(value)} does not match {_shortened(rule)}",
}
"""Per keyword of JSON Schema: the value and the rule it breaks, in words. Values are quoted briefly: a mistake may
be ten thousand characters long."""


def _shortened(value: object) -> str:
    text = value if isinstance(value, str) else canonical_json(value)
    return text if len(text) <= _MAX_QUOTED_CHARS else f"{text[:_MAX_QUOTED_CHARS]}..."
