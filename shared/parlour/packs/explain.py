"""What a file's fields say against its model, told as problems with a line and the nearest right name."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from parlour.infra.errors import InvalidPack, PackProblem
from parlour.infra.jsonable import canonical
from parlour.packs.locate import Located, Place
from parlour.packs.part import Part
from parlour.text.suggestions import listed, meant, nearest

_KEY = "[key]"

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


def parse[T](kind: type[T], located: Located) -> T:
    """A file's value as `kind` (a Part, or a tuple of Parts). Raises InvalidPack with every problem of the file."""
    try:
        return TypeAdapter(kind).validate_json(canonical(located.value))
    except ValidationError as error:
        details = error.errors(include_url=False)
        misspelt = {place for detail in details for place in _meant(kind, detail)}
        told = [detail for detail in details if detail["type"] != "missing" or detail["loc"] not in misspelt]
        raise InvalidPack([_problem(kind, detail, located) for detail in told]) from None


def _problem(kind: Any, detail: ErrorDetails, located: Located) -> PackProblem:
    place = tuple(step for step in detail["loc"] if step != _KEY)
    return located.problem(place, _message(kind, detail, place))


def _message(kind: Any, detail: ErrorDetails, place: Place) -> str:
    if detail["type"] == "extra_forbidden":
        return _unknown(_part_at(kind, place[:-1]), str(place[-1]))
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    if detail["input"] is None and detail["type"] != "missing":
        return "is empty: leave it out or give it a value"
    hint = meant(str(detail["input"]), _literals(detail)) if detail["type"] == "literal_error" else ""
    return _MESSAGES.get(detail["type"], detail["msg"]).format(**detail.get("ctx", {})) + hint


def _meant(kind: Any, detail: ErrorDetails) -> Iterator[Place]:
    """Where an unknown field should have been: that it is missing there goes without saying."""
    if detail["type"] == "extra_forbidden":
        *above, name = detail["loc"]
        part = _part_at(kind, [step for step in above if step != _KEY])
        yield from ((*above, near) for near in nearest(str(name), _names(part)))


def _unknown(part: type[Part], name: str) -> str:
    if name in part.elsewhere:
        return f"is not a field here: {part.elsewhere[name]}"
    names = _names(part)
    return f"is not a field here{meant(name, names)} (there are: {listed(names, 20)})"


def _part_at(kind: Any, place: Iterable[str | int]) -> type[Part]:
    """The model whose fields stand at `place`."""
    for step in place:
        part = _part(kind)
        if part is None:
            kind = next(iter(reversed([one for one in get_args(kind) if one is not ...])))
        else:
            fields = {field.alias or name: field for name, field in part.model_fields.items()}
            kind = fields[str(step)].annotation
    found = _part(kind)
    if found is None:
        raise LookupError(f"no model at {place}")
    return found


def _part(kind: Any) -> type[Part] | None:
    """The model that `kind` is, or may be; None for a list or a mapping."""
    if isinstance(kind, type) and issubclass(kind, Part):
        return kind
    if get_origin(kind) in {tuple, dict, Mapping}:
        return None
    return next((part for one in get_args(kind) if (part := _part(one))), None)


def _names(part: type[Part]) -> list[str]:
    return [field.alias or name for name, field in part.model_fields.items()]


def _literals(detail: ErrorDetails) -> list[str]:
    return str(detail["ctx"]["expected"]).replace(" or ", ", ").replace("'", "").split(", ")
