"""The tools that Parlour brings along: an agent may name one without the pack saying what it is."""

from dataclasses import replace

from parlour.infra.json_values import JsonObject
from parlour.packs.format import Pack, Tool
from parlour.packs.serialization import to_row
from parlour.tools import tool_definition
from parlour.tools.builtin.builtin_tools import BUILTIN_TOOLS

BUILT_IN_ENDPOINTS = frozenset(tool.endpoint for tool in BUILTIN_TOOLS)
"""What a pack's own tools may name as their endpoint."""


def add_built_in_tools(pack: Pack) -> Pack:
    """Return the pack with the definitions of the built-in tools that its agents name and it does not define itself."""
    named = {name for agent in pack.agents.values() for name in agent.tools} - pack.tools.keys()
    return replace(
        pack, tools={**pack.tools, **{tool.name: _to_pack_tool(tool) for tool in BUILTIN_TOOLS if tool.name in named}}
    )


def list_definitions() -> dict[str, JsonObject]:
    """Return each built-in tool as its row, by name."""
    return {tool.name: to_row(_to_pack_tool(tool)) for tool in BUILTIN_TOOLS}


def _to_pack_tool(tool: tool_definition.Tool) -> Tool:
    return Tool(
        description=tool.description,
        schema=tool.schema,
        endpoint=tool.endpoint,
        writes=tool.writes,
        idempotent=tool.idempotent,
        lookup=tool.lookup,
    )
