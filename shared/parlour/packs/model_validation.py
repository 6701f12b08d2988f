"""What a file's fields say against its model, told as problems with a line and the nearest right name."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from types import NoneType, UnionType
from typing import Annotated, Any, TypeAliasType, Union, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from parlour.infra.errors import InvalidPack
from parlour.infra.json_values import Json, ordered_json
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
        return TypeAdapter(kind).validate_json(ordered_json(located.value))
    except ValidationError as error:
        details = error.errors(include_url=False)
        misspelt = {place for detail in details for place in _intended_fields(kind, detail)}
        enclosing = {detail["loc"][:length] for detail in details for length in range(len(detail["loc"]))}
        follow_ups = {"missing": misspelt, "too_short": enclosing}  # too short without the items that are wrong
        problems = []
        for detail in details:
            if detail["loc"] not in follow_ups.get(detail["type"], ()):
                place = tuple(step for step in detail["loc"] if step != _KEY_STEP)
                problems.append(located.problem_at(place, _problem_message(kind, detail, place)))
        raise InvalidPack(problems) from None


def read_valid_parts(kind: Any, value: Json) -> Any:
    """Return a value as `kind` although parts of it are wrong: those have their defaults, or are empty.

    Misspelt fields are read as those that were meant. Positions in lists and keys of mappings stay as they are.
    """
    return _read_valid_parts(TypeAdapter(kind), kind, value, "")


def _read_valid_parts(adapter: TypeAdapter[Any], kind: Any, value: Json, default: Any) -> Any:
    with suppress(ValidationError):
        return adapter.validate_json(ordered_json(value), strict=True)
    kind = _unwrap(kind)
    if isinstance(kind, type) and issubclass(kind, PackModel):
        return _construct(kind, value if isinstance(value, dict) else {})
    if get_origin(kind) is tuple and isinstance(value, list):
        one = get_args(kind)[0]
        item_adapter: TypeAdapter[Any] = TypeAdapter(one)
        return tuple(_read_valid_parts(item_adapter, one, item, "") for item in value)
    if get_origin(kind) is dict and isinstance(value, dict):
        one = get_args(kind)[1]
        item_adapter = TypeAdapter(one)
        return {name: _read_valid_parts(item_adapter, one, item, "") for name, item in value.items()}
    return default


def _construct(model: type[PackModel], value: Mapping[str, Json]) -> PackModel:
    names = _field_names(model)
    given = {
        meant: item
        for name, item in value.items()
        for meant in ([name] if name in names else closest_option(name, set(names) - value.keys()))
    }
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        kind, alias = field.annotation, field.alias or name
        found = _empty_value(kind) if field.is_required() else field.get_default(call_default_factory=True)
        if alias in given:
            found = _read_valid_parts(_field_adapter(model, name), kind, given[alias], found)
        fields[name] = found
    return model.model_construct(**fields)


@lru_cache(maxsize=512)
def _field_adapter(model: type[PackModel], name: str) -> TypeAdapter[Any]:
    """Return what validates one field; making it takes a while."""
    field = model.model_fields[name]
    kind: Any = Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
    return TypeAdapter(kind)


def _empty_value(kind: Any) -> Any:
    kind = _unwrap(kind)
    if isinstance(kind, type) and issubclass(kind, PackModel):
        return _construct(kind, {})
    return {tuple: (), dict: {}}.get(get_origin(kind), "")


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
        kind = _unwrap(kind)
        if isinstance(kind, type) and issubclass(kind, PackModel):
            fields = {field.alias or name: field for name, field in kind.model_fields.items()}
            kind = fields[str(step)].annotation
        else:
            kind = next(part for part in reversed(get_args(kind)) if part is not ...)
    found: type[PackModel] = _unwrap(kind)
    return found


def _unwrap(kind: Any) -> Any:
    """Return the type behind an alias, an annotation, and `| None`; of other unions the model in it, if it has one."""
    if isinstance(kind, TypeAliasType):
        return _unwrap(kind.__value__)
    if get_origin(kind) is Annotated:
        return _unwrap(get_args(kind)[0])
    if get_origin(kind) in {Union, UnionType}:
        parts = [_unwrap(part) for part in get_args(kind) if part is not NoneType]
        models = (part for part in parts if isinstance(part, type) and issubclass(part, PackModel))
        return next(models, parts[0] if len(parts) == 1 else kind)
    return kind


def _field_names(part: type[PackModel]) -> list[str]:
    return [field.alias or name for name, field in part.model_fields.items()]
