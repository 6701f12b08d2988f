"""A pack's tool as the tools room knows it."""

from typing import Any

from parlour.packs.format import Tool
from parlour.tools import definition


def definition_of(name: str, tool: Tool) -> definition.Tool:
    """The tool under its name, to be checked or measured."""
    said: dict[str, Any] = dict(tool)
    return definition.Tool(name=name, schema=said.pop("parameters"), **said)
