"""What models are told of the tools of this room: sound, short enough, and the same in every prompt."""

import pytest

from parlour.infra.json_values import canonical_json
from parlour.packs import built_in_tools
from parlour.text.token_counter import count_tokens
from parlour.tools.builtin.builtin_tools import BUILTIN_LOOKUPS, BUILTIN_TOOLS
from parlour.tools.tool_definition import Tool, find_problems

CAP = 1_500
"""Tokens of the tool layer (the design, section 7), as a model is budgeted whose own count is not known yet."""


def test_the_whole_set_fits_the_tool_layer() -> None:
    whole = canonical_json([tool.to_definition() for tool in sorted(BUILTIN_TOOLS, key=lambda tool: tool.name)])
    assert count_tokens(whole) <= CAP


@pytest.mark.parametrize("tool", BUILTIN_TOOLS, ids=lambda tool: tool.name)
def test_each_can_be_used_as_it_is(tool: Tool) -> None:
    assert find_problems(tool) == []
    assert tool.endpoint in built_in_tools.BUILT_IN_ENDPOINTS
    assert tool.is_repeatable


def test_what_is_needed_is_there() -> None:
    assert {tool.name for tool in BUILTIN_TOOLS} == {
        "ask_a_person",
        "search_knowledge",
        "list_entities",
        "get_entity",
        "create_entity",
        "update_entity",
        "link_entities",
        "get_linked_entities",
        "list_documents",
        "search_documents",
        "get_document",
        "get_document_metadata",
    }
    assert {tool.name for tool in BUILTIN_TOOLS if tool.writes} == {"create_entity", "update_entity", "link_entities"}
    assert {tool.name for tool in BUILTIN_TOOLS if tool.lookup} == BUILTIN_LOOKUPS.keys()
