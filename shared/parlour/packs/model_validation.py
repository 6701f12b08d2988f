"""What a file's fields say against its model, told as problems with a line and the nearest right name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.infra.json_values import canonical_json
from parlour.packs.pack_model import PackModel
from parlour.packs.source_positions import FieldPath, ParsedYaml
from parlour.text.spelling_suggestions import closest_option, did_you_mean, list_options

_KEY_STEP = "[key]"

_MESSAGES = {
    "missing": "is missing",
    "string_type": "must be text; put numbers in quotes",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list, one item per line with a dash",
    "dict_type": "must be a mapping of names to values",
    "model_type": "must be a mapping of fields",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "literal_error": "must be {expected}",
}


def validate_model[T](kind: type[T], located: ParsedYaml) -> T:
    """Return a file's value as `kind` (a Part, or a tuple of Parts). InvalidPack with every problem of the file."""
    try:
        return TypeAdapter(kind).validate_json(canonical_json(located.value))
    except ValidationError as error:
        details = error.errors(include_url=False)
        misspelt = {place for detail in details for place in _intended_fields(kind, detail)}
        told = [detail for detail in details if detail["type"] != "missing" or detail["loc"] not in misspelt]
        raise InvalidPack([_to_problem(kind, detail, located) for detail in told]) from None


def _to_problem(kind: Any, detail: ErrorDetails, located: ParsedYaml) -> PackProblem:
    place = tuple(step for step in detail["loc"] if step != _KEY_STEP)
    return located.problem_at(place, _problem_message(kind, detail, place))


def _problem_message(kind: Any, detail: ErrorDetails, place: FieldPath) -> str:
    if detail["type"] == "extra_forbidden":
        part = _model_at(kind, place[:-1])
        name = str(place[-1])
        if name in part.field_hints:
            return f"is not a field here: {part.field_hints[name]}"
        names = _field_names(part)
        return f"is not a field here{did_you_mean(name, names)} (available: {list_options(names, 20)})"
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    if detail["input"] is None and detail["type"] != "missing":
        return "is empty: leave it out or give it a value"
    hint = (
        did_you_mean(
            str(detail["input"]), str(detail["ctx"]["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
        )
        if detail["type"] == "literal_error"
        else ""
    )
    return _MESSAGES.get(detail["type"], detail["msg"]).format(**detail.get("ctx", {})) + hint


def _intended_fields(kind: Any, detail: ErrorDetails) -> Iterator[FieldPath]:
    """Where an unknown field should have been: that it is missing there goes without saying."""
    if detail["type"] == "extra_forbidden":
        *above, name = detail["loc"]
        part = _model_at(kind, [step for step in above if step != _KEY_STEP])
        yield from ((*above, near) for near in closest_option(str(name), _field_names(part)))


def _model_at(kind: Any, place: Iterable[str | int]) -> type[PackModel]:
    """Return the model whose fields are at `place`."""
    for step in place:
        part = _model_of(kind)
        if part is None:
            kind = next(iter(reversed([one for one in get_args(kind) if one is not ...])))
        else:
            fields = {field.alias or name: field for name, field in part.model_fields.items()}
            kind = fields[str(step)].annotation
    found = _model_of(kind)
    if found is None:
        raise LookupError(f"no model at {place}")
    return found


def _model_of(kind: Any) -> type[PackModel] | None:
    """Return the model that `kind` is, or may be; None for a list or a mapping."""
    if isinstance(kind, type) and issubclass(kind, PackModel):
        return kind
    if get_origin(kind) in {tuple, dict, Mapping}:
        return None
    return next((part for one in get_args(kind) if (part := _model_of(one))), None)


def _field_names(part: type[PackModel]) -> list[str]:
    return [field.alias or name for name, field in part.model_fields.items()]
