"""Which tools an agent has."""

import json
from collections.abc import Sequence
from dataclasses import fields

from parlour.infra import log
from parlour.infra.errors import UnknownTool
from parlour.infra.postgres import Transaction
from parlour.tools import store
from parlour.tools.tool_definition import Tool


def load_tools(tx: Transaction, names: Sequence[str]) -> list[Tool]:
    """Return the tools that an agent names, sorted by name.

    A tool that does not exist is logged and left out: the agent answers without it.
    """
    return _warn_about_missing(store.list_tools(tx, names), names) if names else []


def parse_tools(rows: str, names: Sequence[str], allowed_hosts: Sequence[str], tenant_slug: str) -> list[Tool]:
    """Return the tools from rows that were read as JSON with something else.

    `allowed_hosts` are the hosts that the tenant's tools may reach.
    """
    own = {one.name for one in fields(Tool)}
    hosts = tuple(allowed_hosts)
    tools = [
        Tool(
            **{
                **{name: value for name, value in one["tool"].items() if name in own},
                "secret_reference": one["secret_reference"],
                "allowed_hosts": hosts,
                "tenant_slug": tenant_slug,
            }
        )
        for one in json.loads(rows or "[]")
    ]
    return _warn_about_missing(tools, names)


def _warn_about_missing(tools: Sequence[Tool], names: Sequence[str]) -> list[Tool]:
    for missing in sorted(set(names) - {tool.name for tool in tools}):
        log.warning("tool_missing", tool=missing)
    return [*tools]


def find_tool(tools: Sequence[Tool], name: str) -> Tool:
    """Return the tool of that name; UnknownTool lists the known ones for the model."""
    for tool in tools:
        if tool.name == name:
            return tool
    raise UnknownTool(f"there is no tool {name[:64]}; there are: {', '.join(tool.name for tool in tools) or 'none'}")
