"""An agent's tools come from its tenant, sorted, and without the ones that do not exist."""

from datetime import datetime

import pytest

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database
from parlour.infra.queries import Query
from parlour.principal import system_principal
from parlour.tools.registry import load_tools
from parlour.tools.tool_definition import Tool

_TENANT = Query(
    "test.tenant",
    "-",
    "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)"
    " VALUES (current_tenant(), %(slug)s, 'T', %(now)s, %(now)s)",
)
_TOOL = Query(
    "test.tool",
    "-",
    "INSERT INTO tools (tenant_id, id, name, description, schema, endpoint, created_at, updated_at)"
    " VALUES (current_tenant(), %(id)s, %(name)s, 'Does it.', %(schema)s, 'python:x', %(now)s, %(now)s)",
)


def test_tools_are_loaded_by_name_in_one_order(
    database: Database, now: datetime, caplog: pytest.LogCaptureFixture
) -> None:
    acme, brick = system_principal(uuid7(now)), system_principal(uuid7(now))
    for principal, slug, names in ((acme, "acme", ["search", "b_2", "b1", "unused"]), (brick, "brick", ["theirs"])):
        with database.transaction(principal) as tx:
            tx.run(_TENANT, slug=slug, now=now)
            tx.run_many(
                _TOOL,
                [{"id": uuid7(now), "name": name, "schema": {"type": "object"}, "now": now} for name in names],
            )
    with database.transaction(acme) as tx:
        tools = load_tools(tx, ["search", "theirs", "b_2", "b1"])
        assert load_tools(tx, []) == []
    assert [tool.name for tool in tools] == ["b1", "b_2", "search"]
    assert tools[0] == Tool("b1", "Does it.", {"type": "object"}, "python:x", tenant_slug="acme")
    assert [vars(record)["tool"] for record in caplog.records] == ["theirs"]
