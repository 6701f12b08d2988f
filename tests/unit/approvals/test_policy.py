"""Which calls ask, by the policy of a tool or a binding."""

from dataclasses import replace

import pytest

from parlour.approvals.policy import asks_first
from parlour.infra.json_values import Json, JsonObject
from parlour.tools.tool_definition import Tool, find_problems

TOOL = Tool("book_crane", "Book the crane.", {"type": "object"}, "python:book_crane", writes=True)
LARGE: JsonObject = {"type": "object", "properties": {"hours": {"minimum": 8}}, "required": ["hours"]}


@pytest.mark.parametrize(
    ("policy", "asks"), [("never", False), ("writes", True), ("always", True), (LARGE, False), ("sometimes", True)]
)
def test_a_policy_decides_by_the_tool(policy: Json, asks: bool) -> None:
    assert asks_first(policy, TOOL, {"hours": 2}) is asks


def test_a_schema_asks_for_the_arguments_that_match_it() -> None:
    assert asks_first(LARGE, TOOL, {"hours": 9})
    assert not asks_first(LARGE, TOOL, {})


def test_writes_does_not_ask_for_a_tool_that_reads() -> None:
    assert not asks_first("writes", replace(TOOL, writes=False), {})


@pytest.mark.parametrize(
    "policy", ["sometimes", 3, {"type": "nonsense"}, {"type": "object", "$ref": "http://x.example"}]
)
def test_an_unsound_policy_is_refused_with_the_pack(policy: Json) -> None:
    assert {field for field, _ in find_problems(replace(TOOL, needs_approval=policy))} == {"needs_approval"}
