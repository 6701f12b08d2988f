"""Transactions act as one tenant, survive a dead connection, and lose nothing they did not commit."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

import psycopg
import pytest

from local.database import Cluster
from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.postgres import Connection, Database, Transaction, jsonb
from parlour.infra.queries import Query

INSERT = Query(
    "test.insert",
    "A tenant.",
    "INSERT INTO tenants (tenant_id, slug, display_name, settings, created_at, updated_at)"
    " VALUES (current_tenant(), %(slug)s, 'Name', %(settings)s, %(now)s, %(now)s)",
)
SLUGS = Query("test.slugs", "All slugs.", "SELECT slug, settings FROM tenants ORDER BY slug")
KILL = Query("test.kill", "End this very connection.", "SELECT pg_terminate_backend(pg_backend_pid())")


@dataclass(frozen=True)
class Slug:
    slug: str
    settings: dict[str, object]


def add(database: Database, tenant: UUID, slug: str, now: datetime, then: Query | None = None) -> None:
    with database.transaction(tenant) as tx:
        assert tx.run(INSERT, slug=slug, settings={"a": [1]}, now=now) == 1
        if then:
            tx.run(then)


def slugs(database: Database, tenant: UUID | None) -> list[str]:
    with database.transaction(tenant) as tx:
        return [row.slug for row in tx.all(SLUGS, Slug)]


def kill_all(cluster: Cluster, database_name: str) -> None:
    with cluster.connect_as_superuser() as superuser:
        query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        superuser.execute(query, (database_name,))


def test_a_transaction_sees_its_own_tenant_only(database: Database, now: datetime) -> None:
    ours, theirs = uuid4(), uuid4()
    add(database, ours, "ours", now)
    add(database, theirs, "theirs", now)
    assert (slugs(database, ours), slugs(database, theirs), slugs(database, None)) == (["ours"], ["theirs"], [])


def test_the_tenant_does_not_outlive_its_transaction(database: Database, now: datetime) -> None:
    ours = uuid4()
    add(database, ours, "ours", now)
    assert slugs(database, None) == []


def test_an_error_rolls_back_and_the_connection_goes_on(database: Database, now: datetime) -> None:
    ours = uuid4()
    with pytest.raises(psycopg.errors.UniqueViolation), database.transaction(ours) as tx:
        tx.run_many(INSERT, [{"slug": "half", "settings": {}, "now": now}] * 2)
    assert slugs(database, ours) == []


def test_a_connection_that_died_between_transactions_is_replaced_once(
    database: Database, database_name: str, cluster: Cluster, now: datetime
) -> None:
    ours, theirs = uuid4(), uuid4()
    add(database, ours, "before", now)
    kill_all(cluster, database_name)
    add(database, theirs, "later", now)
    assert (slugs(database, ours), slugs(database, theirs)) == (["before"], ["later"])


def test_a_connection_that_dies_inside_a_transaction_is_an_error_that_lost_nothing(
    database: Database, now: datetime
) -> None:
    ours = uuid4()
    with pytest.raises(DatabaseUnavailable):
        add(database, ours, "half", now, then=KILL)
    assert slugs(database, ours) == []


def test_a_database_that_cannot_be_reached_is_said_to_be_away() -> None:
    def refuse(seconds: float) -> Connection:
        raise psycopg.OperationalError

    with pytest.raises(DatabaseUnavailable), Database(refuse).transaction(None):
        pass


def test_rows_come_back_as_records_and_json_as_values(database: Database, now: datetime) -> None:
    ours = uuid4()
    add(database, ours, "ours", now)
    with database.transaction(ours) as tx:
        assert tx.one(SLUGS, Slug) == Slug("ours", {"a": [1]})
        assert tx.value(SLUGS) == "ours"
        assert tx.first(Query("test.none", "Nothing.", "SELECT slug, settings FROM tenants WHERE false"), Slug) is None
        with pytest.raises(LookupError, match=r"test\.none"):
            tx.one(Query("test.none", "Nothing.", "SELECT slug, settings FROM tenants WHERE false"), Slug)


@pytest.mark.parametrize("levels", [1, 100, 230, 400])
def test_json_comes_back_as_it_was_however_deeply_it_is_nested(database: Database, levels: int) -> None:
    value: object = {"\u00e9 \U0001f600": [1.5, -0.0, 10**30, None, True, '\t"\\']}
    for _ in range(levels):
        value = [value]
    echo = Query("test.echo", "The same.", "SELECT %(value)s AS value")
    with database.transaction(None) as tx:
        assert tx.value(echo, value=jsonb(value)) == value


def test_text_that_is_none_is_an_error_of_the_text(database: Database) -> None:
    echo = Query("test.echo", "The same.", "SELECT %(value)s AS value")
    with pytest.raises(UnicodeEncodeError), database.transaction(None) as tx:
        tx.value(echo, value=jsonb("\ud800"))


def test_a_transaction_inside_another_is_refused_and_nothing_of_it_is_committed(
    database: Database, now: datetime
) -> None:
    ours = uuid4()

    def nested(tx: Transaction) -> None:
        tx.run(INSERT, slug="half", settings={}, now=now)
        database.run(ours, lambda inner: inner.value(SLUGS))

    with pytest.raises(RuntimeError, match="a transaction is open"):
        database.run(ours, nested)
    assert slugs(database, ours) == []
    add(database, ours, "whole", now)
    assert slugs(database, ours) == ["whole"]


def test_many_rows_are_written_in_one_call(open_database: Callable[[], Database], now: datetime) -> None:
    database = open_database()
    audit = Query(
        "test.audit",
        "A line.",
        "INSERT INTO audit_log VALUES (current_tenant(), %(id)s, 'x', 'x', 'x', %(details)s, %(at)s)",
    )
    ours = uuid4()
    add(database, ours, "ours", now)
    with database.transaction(ours) as tx:
        tx.run_many(audit, [{"id": uuid4(), "details": jsonb([number]), "at": now} for number in range(50)])
        tx.run_many(audit, [])
        written = tx.value(Query("test.lines", "How many lines.", "SELECT count(*) FROM audit_log WHERE action = 'x'"))
    assert written == 50
