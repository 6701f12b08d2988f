"""A pack's tool as the tools room knows it."""

from collections.abc import Sequence
from typing import Any

from parlour.packs.format import Tool
from parlour.tools import tool_definition


def to_tool_definition(name: str, tool: Tool, hosts: Sequence[str] = ()) -> tool_definition.Tool:
    """Return the tool under its name, to be checked or counted; `hosts` are those that its tenant lists."""
    said: dict[str, Any] = dict(tool)
    return tool_definition.Tool(name=name, schema=said.pop("parameters"), allowed_hosts=hosts, **said)
