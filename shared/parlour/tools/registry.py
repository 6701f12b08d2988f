"""Which tools an agent has."""

import json
from collections.abc import Sequence
from dataclasses import fields

from parlour.infra import log
from parlour.infra.errors import UnknownTool
from parlour.infra.postgres import Transaction
from parlour.tools import store
from parlour.tools.definition import Tool


def load_tools(tx: Transaction, names: Sequence[str]) -> list[Tool]:
    """The tools that an agent names, sorted by name. One that does not exist is logged and left out: the agent
    answers without it."""
    return _known(store.tools(tx, names), names) if names else []


def tools_of(rows: str, names: Sequence[str], hosts: Sequence[str], tenant: str) -> list[Tool]:
    """The same from rows that were read along with something else, as JSON. `hosts`: those that the tenant's tools may
    reach; `tenant`: its slug."""
    return _known(_read(rows, tuple(hosts), tenant), names)


def _known(tools: Sequence[Tool], names: Sequence[str]) -> list[Tool]:
    for missing in sorted(set(names) - {tool.name for tool in tools}):
        log.warning("tool_missing", tool=missing)
    return [*tools]


def _read(rows: str, hosts: tuple[str, ...], tenant: str) -> tuple[Tool, ...]:
    """Tools from their rows."""
    own = {one.name for one in fields(Tool)}
    return tuple(
        Tool(**{
            **{name: value for name, value in one["row"].items() if name in own},
            "secret": one["secret"], "hosts": hosts, "tenant": tenant,
        })
        for one in json.loads(rows or "[]")
    )  # fmt: skip


def find(tools: Sequence[Tool], name: str) -> Tool:
    """The tool of that name; UnknownTool tells the model which there are."""
    for tool in tools:
        if tool.name == name:
            return tool
    raise UnknownTool(f"there is no tool {name[:64]}; there are: {', '.join(tool.name for tool in tools) or 'none'}")
