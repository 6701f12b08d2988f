"""Migrations go forward, once each, under a lock, and notice when history was rewritten."""

import re
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from local.database import OWNER_ROLE, Cluster, open_connection
from local.interrupts import StopSignals
from local.up import run_with_signals
from parlour.infra.errors import DatabaseTooOld, MigrationConflict
from parlour.infra.migrator import Migration, apply_migrations, list_migrations

FIRST = Migration(1, "0001_first", "CREATE TABLE first (id int)")
SECOND = Migration(2, "0002_second", "CREATE TABLE second (id int); INSERT INTO second VALUES (1)")
BROKEN = Migration(3, "0003_broken", "CREATE TABLE third (id int); SELECT nonsense")


@pytest.fixture
def empty(cluster: Cluster) -> Iterator[str]:
    cluster.create("test_empty")
    yield "test_empty"
    cluster.drop("test_empty")


def test_each_is_applied_once_and_in_order(cluster: Cluster, empty: str, now: datetime) -> None:
    with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
        assert apply_migrations(owner, now, [FIRST]) == ["0001_first"]
        assert apply_migrations(owner, now, [FIRST, SECOND]) == ["0002_second"]
        assert apply_migrations(owner, now, [FIRST, SECOND]) == []


def test_a_changed_or_missing_file_is_a_conflict_and_nothing_is_applied(
    cluster: Cluster, empty: str, now: datetime
) -> None:
    with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
        apply_migrations(owner, now, [FIRST])
        with pytest.raises(MigrationConflict, match="0001_first changed"):
            apply_migrations(owner, now, [replace(FIRST, sql="CREATE TABLE other (id int)"), SECOND])
        with pytest.raises(MigrationConflict, match="0001 was applied"):
            apply_migrations(owner, now, [SECOND])
        assert owner.execute("SELECT to_regclass('second')").fetchone() == (None,)


def test_a_broken_one_leaves_nothing_of_itself(cluster: Cluster, empty: str, now: datetime) -> None:
    with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
        with pytest.raises(psycopg.Error):
            apply_migrations(owner, now, [FIRST, BROKEN])
        assert owner.execute("SELECT to_regclass('first'), to_regclass('third')").fetchone() == ("first", None)
        assert apply_migrations(owner, now, [FIRST, SECOND]) == ["0002_second"]


def test_two_at_once_apply_everything_once(cluster: Cluster, empty: str, now: datetime) -> None:
    applied: list[list[str]] = []

    def run() -> None:
        with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
            applied.append(apply_migrations(owner, now, [FIRST, SECOND]))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, applied)) == [0, 2]


def test_what_ships_is_numbered_without_gaps() -> None:
    assert [migration.version for migration in list_migrations()] == list(range(1, len(list_migrations()) + 1))


@pytest.mark.parametrize("migration", list_migrations()[43:], ids=lambda migration: migration.name)
def test_the_release_before_runs_on_the_schema_and_no_lock_lasts_long(migration: Migration) -> None:
    """From 0044 on, what takes away names the code that no longer needs it, and nothing scans a table under a lock."""
    created = re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)", migration.sql)
    if re.search(r"DROP (TABLE|COLUMN)|\bRENAME\b|SET NOT NULL|ALTER COLUMN \w+ (SET DATA )?TYPE", migration.sql):
        assert migration.needs_version, "say `-- needs code of NNNN`: the newest migration that code must know"
    for table in re.findall(r"CREATE (?:UNIQUE )?INDEX \w+\s+ON (\w+)", migration.sql):
        assert table in created, f"an index on {table} is built CONCURRENTLY after the deployment"
    for table, constraint in re.findall(r"ALTER TABLE (\w+)\s+ADD CONSTRAINT ([^;]+)", migration.sql):
        assert table in created or "NOT VALID" in constraint, f"{table}: add it NOT VALID, validate it in the next file"


def test_visitors_of_before_their_retention_are_due_from_the_oldest_on(
    cluster: Cluster, empty: str, now: datetime
) -> None:
    migrations = list_migrations()
    with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
        apply_migrations(owner, now, migrations[:19])
        for tenant in (visited := uuid4()), uuid4():
            owner.execute("SELECT set_config('app.tenant_id', %s, false)", (str(tenant),))
            owner.execute(
                "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)"
                " VALUES (%s, %s, '', %s, %s)",
                (tenant, f"t-{tenant}", now, now),
            )
            for days in (90, 40) if tenant == visited else ():
                owner.execute(
                    "INSERT INTO users (tenant_id, id, created_at) VALUES (%s, %s, %s)",
                    (tenant, uuid4(), now - timedelta(days=days)),
                )
        owner.commit()
        apply_migrations(owner, now, migrations)
        found = owner.execute("SELECT tenant_id, kind, id, due_at FROM work_due").fetchall()
        assert found == [(visited, "visitor_retention", visited, now - timedelta(days=60))]
        owner.execute("SELECT set_config('app.tenant_id', %s, false)", (str(uuid4()),))
        assert owner.execute("SELECT count(*) FROM users").fetchone() == (0,), (
            "row-level security binds the owner again"
        )


def test_vectors_of_before_stay_in_their_rows_in_half_precision(cluster: Cluster, empty: str, now: datetime) -> None:
    migrations = list_migrations()
    with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
        apply_migrations(owner, now, migrations[:24])
        owner.execute("SELECT set_config('app.tenant_id', %s, false)", (str(tenant := uuid4()),))
        owner.execute(
            "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)"
            " VALUES (%s, 'one', '', %s, %s)",
            (tenant, now, now),
        )
        for dimensions in (512, 1024, 1536):
            owner.execute(
                "WITH one AS (INSERT INTO context_rows (tenant_id, id, kind, title, content, content_hash, created_at)"
                " VALUES (%s, gen_random_uuid(), 'snapshot', '', '', '', %s) RETURNING tenant_id, id)"
                " INSERT INTO embeddings (tenant_id, row_id, space, vector)"
                " SELECT tenant_id, id, 'a', (SELECT array_agg(random()) FROM generate_series(1, %s))::vector FROM one",
                (tenant, now, dimensions),
            )
        owner.commit()
        apply_migrations(owner, now, migrations)
        sizes = owner.execute("SELECT vector_dims(vector), pg_column_size(vector) FROM embeddings ORDER BY 1")
        assert sizes.fetchall() == [(512, 1032), (1024, 2056), (1536, 3080)]
        outside = "SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'embeddings'"
        assert owner.execute(outside).fetchone() == (0,)


def test_a_database_of_an_older_release_is_refused_and_left_as_it_is(
    cluster: Cluster, empty: str, now: datetime
) -> None:
    older = [replace(FIRST, name="0001_isolation"), replace(SECOND, name="0002_configuration")]
    with open_connection(cluster.connection_parameters(empty, OWNER_ROLE)) as owner:
        apply_migrations(owner, now, older)
        with pytest.raises(DatabaseTooOld, match="older release"):
            apply_migrations(owner, now, list_migrations())
        assert owner.execute("SELECT to_regclass('tenants')").fetchone() == (None,)
        names = owner.execute("SELECT name FROM schema_migrations ORDER BY version").fetchall()
        assert names == [("0001_isolation",), ("0002_configuration",)]


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (DatabaseTooOld(), "This database was made by an older release. Run `make clean` and start again."),
        (MigrationConflict(), "This database was made by another release. Run `make clean` and start again."),
    ],
)
def test_a_local_start_says_in_one_line_what_to_do(
    problem: MigrationConflict, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def start(_: StopSignals) -> int:
        raise problem

    assert run_with_signals(start) == 1
    assert capsys.readouterr().err == f"{line}\n"
