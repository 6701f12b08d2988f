"""A tool is told to the model as it is, and what cannot be used is refused by name."""

from dataclasses import replace

import pytest

from parlour.infra.json_values import JsonObject
from parlour.tools.builtin.search_knowledge import SEARCH_KNOWLEDGE
from parlour.tools.tool_definition import Tool, find_problems

LOOK = Tool("look", "Looks something up.", {"type": "object", "properties": {"id": {"type": "string"}}}, "python:look")


def test_the_model_is_told_name_description_and_schema() -> None:
    assert LOOK.to_definition() == {"name": "look", "description": "Looks something up.", "input_schema": LOOK.schema}


@pytest.mark.parametrize("tool", [LOOK, SEARCH_KNOWLEDGE])
def test_a_sound_tool_has_no_problems(tool: Tool) -> None:
    assert find_problems(tool) == []
    assert tool.is_read_only


@pytest.mark.parametrize("tool", [replace(LOOK, writes=True), replace(LOOK, heavy=True)])
def test_what_writes_or_takes_long_is_no_read(tool: Tool) -> None:
    assert find_problems(tool) == []
    assert not tool.is_read_only


@pytest.mark.parametrize(("writes", "idempotent", "repeatable"), [(0, 0, 1), (1, 1, 1), (1, 0, 0)])
def test_a_read_and_an_idempotent_write_may_be_repeated(writes: int, idempotent: int, repeatable: int) -> None:
    tool = replace(LOOK, writes=bool(writes), idempotent=bool(idempotent))
    assert tool.is_repeatable == bool(repeatable)


REMOTE = replace(
    LOOK, endpoint="https://api.example.com/look", allowed_hosts=("api.example.com", "api.example.com:8443")
)


@pytest.mark.parametrize(
    "tool",
    [
        REMOTE,
        replace(REMOTE, endpoint="https://API.example.com.:443/look?x=1"),
        replace(REMOTE, endpoint="http://api.example.com:8443/look"),
        replace(REMOTE, lookup="https://api.example.com/look/{key}"),
        replace(LOOK, lookup="python:looked"),
        replace(REMOTE, heavy=True, timeout_seconds=7 * 86_400),
    ],
)
def test_a_tool_may_be_reached_over_the_network_at_a_listed_host(tool: Tool) -> None:
    assert find_problems(tool) == []


@pytest.mark.parametrize(
    ("field", "tool"),
    [
        ("endpoint", replace(REMOTE, allowed_hosts=())),
        ("endpoint", replace(REMOTE, endpoint="https://api.example.com.evil.example/")),
        ("endpoint", replace(REMOTE, endpoint="https://api.example.com:444/")),
        ("endpoint", replace(REMOTE, endpoint="https://api.example.com@evil.example/")),
        ("endpoint", replace(REMOTE, endpoint="https://me:secret@api.example.com/")),
        ("endpoint", replace(REMOTE, endpoint="https://api.example.com\\@evil.example/")),
        ("endpoint", replace(REMOTE, endpoint="https://api.example.com/ look")),
        ("endpoint", replace(REMOTE, endpoint="https://api.example.com:port/")),
        ("endpoint", replace(REMOTE, endpoint="https://[::1/")),
        ("endpoint", replace(REMOTE, endpoint="https:///look")),
        ("endpoint", replace(REMOTE, endpoint="ftp://api.example.com/")),
        ("endpoint", replace(REMOTE, endpoint="file:///etc/passwd")),
        ("lookup", replace(REMOTE, lookup="https://api.example.com/look")),
        ("lookup", replace(REMOTE, lookup="https://evil.example/{key}")),
        ("lookup", replace(LOOK, lookup="https://api.example.com/{key}")),
        ("timeout_seconds", replace(LOOK, timeout_seconds=61)),
        ("timeout_seconds", replace(LOOK, timeout_seconds=-1)),
        ("timeout_seconds", replace(LOOK, heavy=True, timeout_seconds=7 * 86_400 + 1)),
    ],
)
def test_what_cannot_be_reached_is_refused_by_its_field(field: str, tool: Tool) -> None:
    assert [found for found, _ in find_problems(tool)] == [field]


@pytest.mark.parametrize("name", ["", "Look", "1look", "look up", "l" * 65, "look\n"])
def test_a_name_is_one_that_models_take(name: str) -> None:
    assert [field for field, _ in find_problems(replace(LOOK, name=name))] == ["name"]


def test_description_and_endpoint_are_needed() -> None:
    tool = replace(LOOK, description=" ", endpoint="http://169.254.169.254/")
    assert [field for field, _ in find_problems(tool)] == ["description", "endpoint"]


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
    assert [field for field, _ in find_problems(replace(LOOK, schema=schema))] == ["schema"]


def test_a_schema_may_refer_to_itself() -> None:
    schema: JsonObject = {"type": "object", "properties": {"id": {"$ref": "#/$defs/id"}}, "$defs": {"id": {}}}
    assert find_problems(replace(LOOK, schema=schema)) == []
