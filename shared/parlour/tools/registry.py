"""Which tools an agent has."""

from collections.abc import Sequence

from parlour.infra import log
from parlour.infra.errors import UnknownTool
from parlour.infra.postgres import Transaction
from parlour.tools import store
from parlour.tools.definition import Tool


def load_tools(tx: Transaction, names: Sequence[str]) -> list[Tool]:
    """The tools that an agent names, sorted by name. One that does not exist is logged and left out: the agent
    answers without it."""
    if not names:
        return []
    tools = store.tools(tx, names)
    for missing in sorted(set(names) - {tool.name for tool in tools}):
        log.warning("tool_missing", tool=missing)
    return tools


def find(tools: Sequence[Tool], name: str) -> Tool:
    """The tool of that name; UnknownTool tells the model which there are."""
    for tool in tools:
        if tool.name == name:
            return tool
    raise UnknownTool(f"there is no tool {name[:64]}; there are: {', '.join(tool.name for tool in tools) or 'none'}")
