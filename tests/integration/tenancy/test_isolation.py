"""Every named query of the room: rows for its own tenant, nothing of it for another tenant, nothing for none."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import psycopg
import pytest

from parlour.infra.ids import uuid7
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queries import Query
from parlour.tenancy import keys, members, people, versions
from parlour.tenancy.store import SQL
from tests.conftest import NOW
from tests.integration.tenancy.conftest import Firm

TABLES = (
    "tenants", "routes", "bindings", "users", "channel_identities", "sessions", "members", "api_keys",
    "config_versions", "audit_log",
)  # fmt: skip

WITHOUT_A_TENANT = {"tenancy.route"}
"""What may be read before the tenant is known."""

NOT_NEW = {"tenancy.create_tenant"}
"""Its own tenant exists already, so it has nothing to add."""


@pytest.fixture
def rows(database: Database, acme: Firm, brick: Firm) -> dict[str, Any]:
    """A row of acme's in every table, as the parameters that reach it."""
    with database.transaction(acme.operator) as tx:
        writer = people.contact(
            tx,
            channel="whatsapp",
            address="+919800000001",
            display_name="Asha",
            binding_id=acme.binding_id,
            now=NOW,
            new_id=uuid7,
        )
        key = keys.create(acme.operator, tx, name="k", roles=[], clearance=0, now=NOW, new_id=uuid7).key
        member = members.add(
            acme.operator,
            tx,
            issuer="i",
            subject="s",
            display_name="S",
            roles=[],
            clearance=0,
            now=NOW,
            new_id=uuid7,
        )
        versions.record(acme.operator, tx, "human", acme.tiers["human"], 1, {}, NOW, uuid7)
    return {
        "key": "gupshup:acme",
        "kept": [],
        "slug": "site-adviser",
        "binding_id": acme.binding_id,
        "user_id": writer.user_id,
        "session_id": writer.session_id,
        "channel": "whatsapp",
        "address": "+919800000001",
        "key_id": key.id,
        "member_id": member.id,
        "issuer": "i",
        "subject": "s",
        "tier": "human",
        "tier_id": acme.tiers["human"],
        "version": 2,
        "config": {},
        "settings": {"new": 1},
        "details": {},
        "display_name": "New",
        "name": "New",
        "roles": ["viewer"],
        "clearance": 1,
        "active": True,
        "secret_hash": b"h",
        "status": "paused",
        "created_by": "test",
        "actor": "test",
        "action": "test.done",
        "target": "test:1",
        "most": 10,
        "before_at": None,
        "before_id": None,
        "entity_id": None,
        "now": NOW,
    }


def parameters(query: Query, rows: dict[str, Any]) -> dict[str, Any]:
    """What `query` takes; what it inserts gets a new id, under whatever name it has."""
    fresh = {"id", "identity_id"}
    if query.sql.startswith(("INSERT", "WITH")):
        fresh |= {"key_id", "member_id", "session_id"}
    if query.name in {"tenancy.contact", "tenancy.open_visitor"}:
        fresh |= {"user_id"}
    if query.name == "tenancy.record_version":
        fresh |= {"tier_id"}
    if query.name == "tenancy.add_member":
        rows = {**rows, "subject": "another"}
    return {name: uuid7(NOW) if name in fresh else rows[name] for name in query.parameters}


@contextmanager
def rolled_back(database: Database, tenant_id: UUID | None) -> Iterator[Transaction]:
    """A transaction of which nothing stays, and which the database may refuse to go on with."""
    refusals = (_RollBack, psycopg.IntegrityError, psycopg.errors.InsufficientPrivilege)
    with suppress(*refusals), database.transaction(tenant_id) as tx:
        yield tx
        raise _RollBack


class _RollBack(Exception):
    pass


def test_every_query_reaches_its_own_tenants_rows(database: Database, acme: Firm, rows: dict[str, Any]) -> None:
    reached = {}
    for query in SQL.values():
        with rolled_back(database, acme.tenant_id) as tx:
            reached[query.name] = tx.run(query, **parameters(query, rows))
    assert {name for name in [query.name for query in SQL.values()] if not reached.get(name)} == NOT_NEW


def test_no_query_gives_another_tenant_anything_of_it(
    database: Database, acme: Firm, brick: Firm, rows: dict[str, Any]
) -> None:
    before = everything(database, acme)
    ids = [str(id_) for id_ in ids_of(before)]
    assert len(ids) > 20
    for query in SQL.values():
        with suppress(psycopg.IntegrityError), database.transaction(brick.tenant_id) as tx:
            seen = str(returned(tx, query, rows))
            if query.name not in WITHOUT_A_TENANT:
                assert not [id_ for id_ in ids if id_ in seen], query.name
        assert everything(database, acme) == before, query.name


def test_no_query_gives_nobody_anything(database: Database, acme: Firm, brick: Firm, rows: dict[str, Any]) -> None:
    before = everything(database, acme), everything(database, brick)
    refusals = (psycopg.IntegrityError, psycopg.errors.InsufficientPrivilege)
    for query in SQL.values():
        with suppress(*refusals), database.transaction(None) as tx:
            assert bool(returned(tx, query, rows)) == (query.name in WITHOUT_A_TENANT), query.name
    assert (everything(database, acme), everything(database, brick)) == before


def returned(tx: Transaction, query: Query, rows: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows that come back, if the statement returns any."""
    if query.sql.startswith("INSERT") and "RETURNING" not in query.sql:
        tx.run(query, **parameters(query, rows))
        return []
    return tx.all(query, dict, **parameters(query, rows))


def everything(database: Database, firm: Firm) -> dict[str, list[dict[str, Any]]]:
    """All of a firm's rows, by table."""
    with database.transaction(firm.tenant_id) as tx:
        return {table: tx.all(_all_of(table), dict, tenant=firm.tenant_id) for table in TABLES}


def _all_of(table: str) -> Query:
    return Query("test.all", "-", f"SELECT * FROM {table} t WHERE tenant_id = %(tenant)s ORDER BY t::text")


def ids_of(tables: dict[str, list[dict[str, Any]]]) -> Iterator[UUID]:
    """What would give a row away: its ids, and the tenant's."""
    for table_rows in tables.values():
        for row in table_rows:
            yield from (value for value in row.values() if isinstance(value, UUID))
