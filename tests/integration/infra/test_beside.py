"""What is read on a second connection while the first is at work."""

import time
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from local.database import APP, Cluster
from local.scratch import PASSWORD
from parlour.infra.errors import DatabaseUnavailable, StatementTooSlow
from parlour.infra.postgres import Connection, Database, connector
from parlour.infra.queries import Query
from tests.integration.infra.test_database_trouble import Wire

SLOW = Query("test.slow", "Numbers, a little later.", "SELECT number FROM generate_series(1, 3) number, pg_sleep(0.15)")
WRONG = Query("test.wrong", "No number.", "SELECT 1 / 0 AS number")
PID = Query("test.pid", "Which connection.", "SELECT pg_backend_pid() AS number")
STATE = Query("test.state", "What a connection is at.", "SELECT state FROM pg_stat_activity WHERE pid = %(pid)s")
SET = Query(
    "test.set", "What a statement is told before it.",
    "SELECT current_setting('app.tenant_id') AS tenant, current_setting('plan_cache_mode') AS plans", once=True,
)  # fmt: skip


@dataclass(frozen=True)
class Number:
    number: int


@dataclass(frozen=True)
class Settings:
    tenant: str
    plans: str


def pid(database: Database) -> int:
    with database.beside.reading(None, PID, Number) as found:
        return found()[0].number


def end(cluster: Cluster, backend: int) -> None:
    with cluster.superuser() as owner:
        owner.execute("SELECT pg_terminate_backend(%s)", (backend,))


def test_the_first_connection_is_free_meanwhile(database: Database) -> None:
    own = database.run(None, lambda tx: tx.value(PID))
    with database.beside.reading(None, SLOW, Number) as found:
        begun = time.monotonic()
        assert database.run(None, lambda tx: tx.value(PID)) == own != pid_of(database)
        assert time.monotonic() - begun < 0.1
        assert found() == [Number(1), Number(2), Number(3)]


def pid_of(database: Database) -> int:
    """Of the second connection, without asking it."""
    second = database.beside._connection
    assert second is not None
    return second.info.backend_pid


def test_nothing_is_held_until_somebody_asks_for_the_rows(database: Database, cluster: Cluster) -> None:
    """Else whoever lends connections would have none left for those who wait for one."""
    with database.beside.reading(None, SLOW, Number) as found:
        time.sleep(0.3)
        with cluster.superuser() as owner:
            assert owner.execute(STATE.sql, {"pid": pid_of(database)}).fetchone() == ("idle",)
        begun = time.monotonic()
        found()
        assert time.monotonic() - begun < 0.1


def test_it_reads_as_its_tenant_and_is_planned_as_it_says_and_both_are_over_then(database: Database) -> None:
    tenant, anybodys = uuid4(), Query(SET.name, SET.description, SET.sql)
    with database.beside.reading(tenant, SET, Settings) as found:
        assert found() == [Settings(str(tenant), "force_generic_plan")]
    with database.beside.reading(None, anybodys, Settings) as found:
        assert found() == [Settings("", "auto")]
    second = database.beside._connection
    assert second is not None
    assert second.execute(SET.sql.encode()).fetchone() == ("", "auto")


def test_nobody_need_wait_for_it(database: Database) -> None:
    before = pid(database)
    with pytest.raises(ZeroDivisionError), database.beside.reading(None, SLOW, Number):
        1 // 0  # noqa: B018 - the point is what becomes of the connection
    with database.beside.reading(None, WRONG, Number):
        pass
    assert pid(database) == before


def test_one_that_dies_while_somebody_does_something_else_is_opened_anew(database: Database, cluster: Cluster) -> None:
    before = pid(database)

    def stumble() -> None:
        end(cluster, before)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), database.beside.reading(None, SLOW, Number):
        stumble()
    assert pid(database) != before


def test_it_is_not_mixed_up_with_a_transaction(database: Database) -> None:
    tenant, other, anybodys = uuid4(), uuid4(), Query(SET.name, SET.description, SET.sql)
    with database.transaction(tenant) as tx:
        with pytest.raises(RuntimeError, match="beside"), database.reading(other, anybodys, Settings):
            pass
        assert tx.one(anybodys, Settings).tenant == str(tenant)
    second = database.beside
    with second.reading(None, PID, Number), pytest.raises(RuntimeError, match="a transaction is open"):
        second.run(None, lambda tx: tx.value(PID))
    assert second.run(None, lambda tx: tx.value(PID)) == pid(database)


def test_a_line_that_says_nothing_any_more_is_given_up(
    cluster: Cluster, database_name: str, request: pytest.FixtureRequest
) -> None:
    folder = Path(str(cluster.parameters(database_name, APP)["host"]))
    wire = Wire(next(folder.glob(".s.PGSQL.*[0-9]")))
    request.addfinalizer(wire.close)
    where = {"host": "127.0.0.1", "port": wire.port, "user": APP, "password": PASSWORD, "dbname": database_name}
    behind = Database(connector(where))
    behind.limit(lambda: 0.5)
    pid(behind)
    wire.cut = True
    begun = time.monotonic()
    with behind.beside.reading(None, PID, Number) as found, pytest.raises(DatabaseUnavailable):
        found()
    assert time.monotonic() - begun < 5


def test_its_error_is_told_to_who_waits_and_the_connection_stays(database: Database) -> None:
    before = pid(database)
    with database.beside.reading(None, WRONG, Number) as found, pytest.raises(psycopg.errors.DivisionByZero):
        found()
    assert pid(database) == before


def test_one_that_died_is_opened_anew_the_next_time(database: Database, cluster: Cluster) -> None:
    before = pid(database)
    with database.beside.reading(None, SLOW, Number) as found:
        end(cluster, before)
        with pytest.raises(DatabaseUnavailable):
            found()
    assert pid(database) != before


def test_one_that_died_before_says_so_at_once_or_when_it_is_waited_for(database: Database, cluster: Cluster) -> None:
    before = pid(database)
    end(cluster, before)
    with pytest.raises(DatabaseUnavailable):  # noqa: SIM117 - either may
        with database.beside.reading(None, PID, Number) as found:
            found()
    assert pid(database) != before


def test_a_database_that_cannot_be_reached_is_said_to_be_away() -> None:
    def refuse(seconds: float) -> Connection:
        raise psycopg.OperationalError

    with pytest.raises(DatabaseUnavailable), Database(refuse).beside.reading(None, PID, Number):
        pass


def test_it_takes_no_longer_than_the_invocation(database: Database) -> None:
    database.limit(lambda: 0.1)
    stuck = Query("test.stuck", "Nothing.", "SELECT pg_sleep(5)")
    with database.beside.reading(None, stuck, Number) as found, pytest.raises(StatementTooSlow):
        found()


def test_both_connections_are_let_go_together(database: Database, cluster: Cluster) -> None:
    both = (pid(database), database.run(None, lambda tx: tx.value(PID)))
    database.close()
    time.sleep(0.1)
    with cluster.superuser() as owner:
        assert owner.execute("SELECT FROM pg_stat_activity WHERE pid = ANY(%s)", (list(both),)).fetchall() == []


def test_a_connection_is_warm_that_was_open_when_the_invocation_began(database: Database) -> None:
    database.limit(lambda: 60.0)
    assert not database.is_warm
    database.run(None, lambda tx: tx.value(PID))
    assert not database.is_warm
    database.limit(lambda: 60.0)
    assert database.is_warm
