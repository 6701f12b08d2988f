"""A model is told what is wrong with its arguments, briefly, and in words it can act on."""

import pytest
from referencing.exceptions import Unresolvable

from parlour.infra.errors import InvalidArguments
from parlour.infra.json_values import Json, JsonObject
from parlour.tools.arguments import validate_arguments

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 2, "maxLength": 20},
        "limit": {"type": "integer", "minimum": 1, "maximum": 10},
        "order": {"enum": ["new", "old"]},
        "tags": {"type": "array", "maxItems": 2, "minItems": 1, "items": {"pattern": "^[a-z]+$"}},
        "odd": {"multipleOf": 2},
    },
    "required": ["query"],
    "additionalProperties": False,
}


def test_good_arguments_pass() -> None:
    validate_arguments(SCHEMA, {"query": "slab", "limit": 3, "order": "new", "tags": ["a"]})


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("limit", 50, "limit: 50 is more than the maximum of 10"),
        ("limit", 0, "limit: 0 is less than the minimum of 1"),
        ("limit", "three", "limit: three is not of type integer"),
        ("limit", True, "limit: true is not of type integer"),
        ("query", "x", "query: 1 characters are less than the minimum of 2"),
        ("query", "x" * 10_000, "query: 10000 characters are more than the maximum of 20"),
        ("order", "best", 'order: best is not one of ["new","old"]'),
        ("tags", [], "tags: 0 items are less than the minimum of 1"),
        ("tags", ["a", "b", "c"], "tags: 3 items are more than the maximum of 2"),
        ("tags", ["A"], "tags[0]: A does not match ^[a-z]+$"),
        ("odd", 3, "odd: does not satisfy multipleOf 2"),
        ("colour", 1, "arguments: unknown: colour; known: query, limit, order, tags, odd"),
    ],
)
def test_each_mistake_is_named(name: str, value: Json, told: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        validate_arguments(SCHEMA, {"query": "slab", name: value})
    assert str(refused.value) == f"{told}. Correct the arguments and call again."


def test_what_is_missing_is_named() -> None:
    with pytest.raises(InvalidArguments, match=r"^arguments: missing: query"):
        validate_arguments(SCHEMA, {})


def test_several_mistakes_are_told_at_once_and_many_are_not() -> None:
    with pytest.raises(InvalidArguments, match=r"^limit: .*; query: "):
        validate_arguments(SCHEMA, {"query": 1, "limit": 0})
    with pytest.raises(InvalidArguments) as refused:
        validate_arguments(
            {"items": {"type": "string"}, "type": "object", "additionalProperties": {"type": "string"}},
            {f"n{number}": number for number in range(100)},
        )
    assert str(refused.value).count("is not of type") == 5


def test_a_huge_mistake_is_quoted_briefly() -> None:
    with pytest.raises(InvalidArguments) as refused:
        validate_arguments(SCHEMA, {"query": "slab", "limit": "9" * 10_000, "x" * 10_000: 1})
    assert len(str(refused.value)) < 500


def test_a_reference_outside_the_schema_is_never_fetched() -> None:
    with pytest.raises(Exception, match="example") as refused:
        validate_arguments({"$ref": "http://example.invalid/schema"}, {})
    assert isinstance(refused.value.__cause__ or refused.value, Unresolvable)
