"""A tool is told to the model as it is, and what cannot be used is refused by name."""

from dataclasses import replace

import pytest

from parlour.infra.jsonable import JsonObject
from parlour.knowledge.tools import SEARCH_KNOWLEDGE
from parlour.tools.definition import Tool, problems

LOOK = Tool("look", "Looks something up.", {"type": "object", "properties": {"id": {"type": "string"}}}, "python:look")


def test_the_model_is_told_name_description_and_schema() -> None:
    assert LOOK.to_model() == {"name": "look", "description": "Looks something up.", "input_schema": LOOK.schema}


@pytest.mark.parametrize("tool", [LOOK, SEARCH_KNOWLEDGE])
def test_a_sound_tool_has_no_problems(tool: Tool) -> None:
    assert problems(tool) == []
    assert tool.is_read


@pytest.mark.parametrize(
    ("flag", "tool"),
    [
        ("writes", replace(LOOK, writes=True)),
        ("heavy", replace(LOOK, heavy=True)),
        ("needs_approval", replace(LOOK, needs_approval=True)),
    ],
)
def test_what_needs_an_effect_is_not_available_yet(flag: str, tool: Tool) -> None:
    assert problems(tool) == [(flag, "is not available yet; leave it out")]
    assert not tool.is_read


@pytest.mark.parametrize("name", ["", "Look", "1look", "look up", "l" * 65, "look\n"])
def test_a_name_is_one_that_models_take(name: str) -> None:
    assert [field for field, _ in problems(replace(LOOK, name=name))] == ["name"]


def test_description_and_endpoint_are_needed() -> None:
    tool = replace(LOOK, description=" ", endpoint="http://169.254.169.254/")
    assert [field for field, _ in problems(tool)] == ["description", "endpoint"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"type": "object", "properties": {"id": {"type": "strng"}}},
        {"type": "object", "properties": {"id": {"$ref": "https://example.com/schema"}}},
        {"type": "object", "anyOf": [{"$dynamicRef": "file:///etc/passwd"}]},
    ],
)
def test_a_schema_is_an_object_that_refers_only_to_itself(schema: JsonObject) -> None:
    assert [field for field, _ in problems(replace(LOOK, schema=schema))] == ["schema"]


def test_a_schema_may_refer_to_itself() -> None:
    schema: JsonObject = {"type": "object", "properties": {"id": {"$ref": "#/$defs/id"}}, "$defs": {"id": {}}}
    assert problems(replace(LOOK, schema=schema)) == []
