"""Migrations go forward, once each, under a lock, and notice when history was rewritten."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from uuid import UUID

import psycopg
import pytest

from local.database import OWNER, Cluster, connect
from parlour.infra.errors import MigrationConflict
from parlour.infra.migrate import Migration, migrate, shipped

FIRST = Migration(1, "0001_first", "CREATE TABLE first (id int)")
SECOND = Migration(2, "0002_second", "CREATE TABLE second (id int); INSERT INTO second VALUES (1)")
BROKEN = Migration(3, "0003_broken", "CREATE TABLE third (id int); SELECT nonsense")


@pytest.fixture
def empty(cluster: Cluster) -> Iterator[str]:
    cluster.create("test_empty")
    yield "test_empty"
    cluster.drop("test_empty")


def test_each_is_applied_once_and_in_order(cluster: Cluster, empty: str, now: datetime) -> None:
    with connect(cluster.parameters(empty, OWNER)) as owner:
        assert migrate(owner, now, [FIRST]) == ["0001_first"]
        assert migrate(owner, now, [FIRST, SECOND]) == ["0002_second"]
        assert migrate(owner, now, [FIRST, SECOND]) == []


def test_a_changed_or_missing_file_is_a_conflict_and_nothing_is_applied(
    cluster: Cluster, empty: str, now: datetime
) -> None:
    with connect(cluster.parameters(empty, OWNER)) as owner:
        migrate(owner, now, [FIRST])
        with pytest.raises(MigrationConflict, match="0001_first changed"):
            migrate(owner, now, [replace(FIRST, statements="CREATE TABLE other (id int)"), SECOND])
        with pytest.raises(MigrationConflict, match="0001 was applied"):
            migrate(owner, now, [SECOND])
        assert owner.execute("SELECT to_regclass('second')").fetchone() == (None,)


def test_a_broken_one_leaves_nothing_of_itself(cluster: Cluster, empty: str, now: datetime) -> None:
    with connect(cluster.parameters(empty, OWNER)) as owner:
        with pytest.raises(psycopg.Error):
            migrate(owner, now, [FIRST, BROKEN])
        assert owner.execute("SELECT to_regclass('first'), to_regclass('third')").fetchone() == ("first", None)
        assert migrate(owner, now, [FIRST, SECOND]) == ["0002_second"]


def test_two_at_once_apply_everything_once(cluster: Cluster, empty: str, now: datetime) -> None:
    applied: list[list[str]] = []

    def run() -> None:
        with connect(cluster.parameters(empty, OWNER)) as owner:
            applied.append(migrate(owner, now, [FIRST, SECOND]))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(len, applied)) == [0, 2]


def test_what_ships_is_numbered_without_gaps() -> None:
    assert [migration.version for migration in shipped()] == list(range(1, len(shipped()) + 1))


def test_pulses_that_were_stale_before_there_were_writers_are_due(cluster: Cluster, empty: str, now: datetime) -> None:
    before = [one for one in shipped() if one.name < "0014_pulse"]
    with connect(cluster.parameters(empty, OWNER)) as owner:
        migrate(owner, now, before)
        owner.execute("SELECT set_config('app.tenant_id', %s, true)", (str(_TENANT),))
        for statement in _STALE:
            owner.execute(statement, {"now": now, "tenant": _TENANT})
        owner.commit()
        migrate(owner, now, shipped())
        owner.execute("SELECT set_config('app.tenant_id', %s, true)", (str(_TENANT),))
        assert owner.execute("SELECT due_at FROM work_due WHERE kind = 'pulse'").fetchall() == [(now,)]
        ((archive, at),) = owner.execute("SELECT id, due_at FROM work_due WHERE kind <> 'pulse'").fetchall()
        assert (archive, at > now) == (_TENANT, True), "what was said before there was memory is archived as well"
        ((count, marks),) = owner.execute("SELECT marks, stale_marks FROM entities WHERE key = 'T-1'").fetchall()
        assert (count, marks.keys()) == (1, {"changed", "file_ingested"})
        assert datetime.fromisoformat(marks["changed"]["since"]) == now


_TENANT = UUID(int=7)
_STALE = (
    "INSERT INTO tenants (tenant_id, slug, display_name, created_at, updated_at)"
    " VALUES (%(tenant)s, 'acme', 'Acme', %(now)s, %(now)s)",
    "INSERT INTO entity_types (tenant_id, id, key, display_name, created_at, updated_at)"
    " VALUES (%(tenant)s, %(tenant)s, 'tower', 'Tower', %(now)s, %(now)s)",
    "INSERT INTO entities (tenant_id, id, type_id, key, name, created_at, updated_at, stale_since, stale_causes)"
    " SELECT %(tenant)s, gen_random_uuid(), %(tenant)s, one.key, 'Tower', %(now)s, %(now)s, one.since, one.causes"
    " FROM (VALUES ('T-1', %(now)s::timestamptz, '{changed,file_ingested}'::text[]), ('T-2', NULL, '{}'))"
    " AS one (key, since, causes)",
)
