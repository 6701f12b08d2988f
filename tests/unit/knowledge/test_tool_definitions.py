"""What models are told of the tools of this room: sound, short enough, and the same in every prompt."""

import pytest

from parlour.context.tokens import count
from parlour.infra.jsonable import canonical
from parlour.knowledge.tools.kit import LOOKUPS, TOOLS
from parlour.packs import built_in
from parlour.tools.definition import Tool, problems

CAP = 1_500
"""Tokens of the tool layer (the design, section 7), as a model is budgeted whose own count is not known yet."""


def test_the_whole_set_fits_the_tool_layer() -> None:
    whole = canonical([tool.to_model() for tool in sorted(TOOLS, key=lambda tool: tool.name)])
    assert count(whole) <= CAP


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_can_be_used_as_it_is(tool: Tool) -> None:
    assert problems(tool) == []
    assert tool.endpoint in built_in.ENDPOINTS
    assert tool.is_repeatable


def test_what_is_needed_is_there() -> None:
    assert {tool.name for tool in TOOLS} == {
        "search_knowledge", "list_entities", "get_entity", "create_entity", "update_entity", "link_entities",
        "get_linked_entities", "list_documents", "search_documents", "get_document", "get_document_metadata",
    }  # fmt: skip
    assert {tool.name for tool in TOOLS if tool.writes} == {"create_entity", "update_entity", "link_entities"}
    assert {tool.name for tool in TOOLS if tool.lookup} == LOOKUPS.keys()
