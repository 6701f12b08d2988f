"""Work on a database that comes and goes: repeated once, given up in time, and nothing trusted after a freeze."""

import math
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from local.database import APP_ROLE, Cluster
from local.temporary_database import APP_PASSWORD
from parlour.infra import postgres
from parlour.infra.errors import DatabaseUnavailable, SchemaOutdated
from parlour.infra.postgres import Connection, Database, Transaction, connector
from parlour.infra.queries import Query

INSERT = Query(
    "test.insert",
    "A tenant, once.",
    "INSERT INTO tenants (tenant_id, slug, display_name, settings, created_at, updated_at)"
    " VALUES (current_tenant(), %(slug)s, 'Name', '{}', %(now)s, %(now)s) ON CONFLICT DO NOTHING",
)
COUNT = Query("test.count", "How many tenants.", "SELECT count(*) FROM tenants")
KILL = Query("test.kill", "End this very connection.", "SELECT pg_terminate_backend(pg_backend_pid())")
PID = Query("test.pid", "Which connection this is.", "SELECT pg_backend_pid()")
SETTING = Query("test.setting", "A setting.", "SELECT current_setting(%(name)s)")
SLEEP = Query("test.sleep", "Takes its time.", "SELECT pg_sleep(%(seconds)s)")
PREPARED = Query("test.prepared", "Statements prepared.", "SELECT count(*) FROM pg_prepared_statements")


def kill(cluster: Cluster, pid: int) -> None:
    with cluster.connect_as_superuser() as superuser:
        superuser.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


class Work:
    """Adds a tenant; `trouble` happens, as often as told, at the end of the work."""

    def __init__(self, now: datetime, trouble: Callable[[Transaction], object], times: int = 1) -> None:
        self.now = now
        self.trouble = trouble
        self.times = times
        self.calls = 0

    def __call__(self, tx: Transaction) -> str:
        self.calls += 1
        tx.run(INSERT, slug="ours", now=self.now)
        if self.calls <= self.times:
            self.trouble(tx)
        return "done"


def tenants(database: Database, tenant: UUID) -> int:
    return database.run(tenant, lambda tx: int(tx.value(COUNT)))


class TestRepeating:
    """What `run` does about a connection that dies."""

    def test_before_the_work(self, database: Database, cluster: Cluster, now: datetime) -> None:
        ours, work = uuid4(), Work(now, lambda tx: None)
        kill(cluster, database.run(None, lambda tx: int(tx.value(PID))))
        assert database.run(ours, work) == "done"
        assert (work.calls, tenants(database, ours)) == (1, 1)

    def test_in_the_middle_of_the_work(self, database: Database, now: datetime) -> None:
        ours, work = uuid4(), Work(now, lambda tx: tx.run(KILL))
        assert database.run(ours, work) == "done"
        assert (work.calls, tenants(database, ours)) == (2, 1)

    def test_just_before_the_commit(self, database: Database, cluster: Cluster, now: datetime) -> None:
        ours, work = uuid4(), Work(now, lambda tx: kill(cluster, int(tx.value(PID))))
        assert database.run(ours, work) == "done"
        assert (work.calls, tenants(database, ours)) == (2, 1)

    def test_with_the_commit_done_and_its_answer_lost(
        self, cluster: Cluster, database_name: str, open_database: Callable[[], Database], now: datetime
    ) -> None:
        class LosesAnswers(Connection):
            lost = False

            def commit(self) -> None:
                super().commit()
                if not LosesAnswers.lost:
                    LosesAnswers.lost = True
                    self.close()
                    raise psycopg.OperationalError("server closed the connection unexpectedly")

        def connect(seconds: float) -> Connection:
            where = cluster.connection_parameters(database_name, APP_ROLE, APP_PASSWORD)
            return LosesAnswers.connect(**where, autocommit=True, prepare_threshold=None)  # type: ignore[arg-type]

        ours, work, losing = uuid4(), Work(now, lambda tx: None), Database(connect)
        assert losing.run(ours, work) == "done"
        losing.close()
        assert (work.calls, tenants(open_database(), ours)) == (2, 1)

    def test_once_and_not_twice(self, database: Database, now: datetime) -> None:
        ours, work = uuid4(), Work(now, lambda tx: tx.run(KILL), times=9)
        with pytest.raises(DatabaseUnavailable):
            database.run(ours, work)
        assert (work.calls, tenants(database, ours)) == (2, 0)

    def test_not_for_an_error_of_its_own(self, database: Database, now: datetime) -> None:
        def stumble(tx: Transaction) -> None:
            raise ZeroDivisionError

        ours, work = uuid4(), Work(now, stumble)
        with pytest.raises(ZeroDivisionError):
            database.run(ours, work)
        assert (work.calls, tenants(database, ours)) == (1, 0)

    def test_not_for_a_statement_that_took_too_long(self, database: Database, now: datetime) -> None:
        ours, work = uuid4(), Work(now, lambda tx: tx.run(SLEEP, seconds=9))
        database.set_time_limit(lambda: 0.0)
        with pytest.raises(DatabaseUnavailable):
            database.run(ours, work)
        database.set_time_limit(None)
        assert (work.calls, tenants(database, ours)) == (1, 0)

    def test_for_the_old_writer_after_a_failover(self, database: Database, now: datetime) -> None:
        read_only = Query("test.read_only", "As a reader.", "SET TRANSACTION READ ONLY")
        ours, work = uuid4(), Work(now, lambda tx: (tx.run(read_only), tx.run(INSERT, slug="more", now=now)))
        before = database.run(None, lambda tx: tx.value(PID))
        database.run(ours, work)
        assert database.run(None, lambda tx: tx.value(PID)) != before

    def test_for_one_that_the_server_ended_because_it_stalled(
        self, database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(postgres, "_BEGIN", postgres._BEGIN.replace("= 10000", "= 50"))
        ours, work = uuid4(), Work(now, lambda tx: time.sleep(0.3))
        assert database.run(ours, work) == "done"
        assert (work.calls, tenants(database, ours)) == (2, 1)


class TestLimits:
    """How long anything may take is what the invocation has left."""

    @pytest.mark.parametrize(
        ("left", "timeout"), [(None, "20s"), (60.0, "20s"), (7.5, "7500ms"), (0.1, "500ms"), (-3.0, "500ms")]
    )
    def test_a_statement_may_take_what_is_left(self, database: Database, left: float | None, timeout: str) -> None:
        database.set_time_limit(None if left is None else lambda: left)
        assert database.run(None, lambda tx: tx.value(SETTING, name="statement_timeout")) == timeout

    def test_a_statement_that_takes_longer_is_given_up(self, database: Database) -> None:
        database.set_time_limit(lambda: 0.5)
        started = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            database.run(None, lambda tx: tx.run(SLEEP, seconds=30))
        assert time.monotonic() - started < 3

    @pytest.mark.parametrize(("left", "seconds"), [(math.inf, 10), (4.9, 4), (0.5, 2), (-1, 2)])
    def test_so_may_opening_a_connection(self, monkeypatch: pytest.MonkeyPatch, left: float, seconds: int) -> None:
        asked: list[object] = []

        def refuse(**parameters: object) -> Connection:
            asked.append(parameters["connect_timeout"])
            raise psycopg.OperationalError

        monkeypatch.setattr(Connection, "connect", refuse)
        database = Database(connector({"host": "nowhere"}))
        database.set_time_limit(lambda: left)
        with pytest.raises(DatabaseUnavailable), database.transaction(None):
            pass
        assert asked == [seconds]

    def test_a_server_that_takes_the_call_and_says_nothing_is_left_in_time(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as deaf:
            port = deaf.getsockname()[1]
            database = Database(connector({"host": "127.0.0.1", "port": port, "user": "x", "dbname": "x"}))
            database.set_time_limit(lambda: 2.0)
            started = time.monotonic()
            with pytest.raises(DatabaseUnavailable), database.transaction(None):
                pass
            assert time.monotonic() - started < 4


class TestTrust:
    """What a connection is taken for."""

    def test_one_that_was_used_just_now_is_used_again(self, database: Database) -> None:
        first = database.run(None, lambda tx: tx.value(PID))
        assert database.run(None, lambda tx: tx.value(PID)) == first

    def test_one_that_was_frozen_is_replaced_without_asking_it(
        self, database: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        first = database.run(None, lambda tx: tx.value(PID))
        frozen = database._connection
        wall_clock = time.time
        monkeypatch.setattr(time, "time", lambda: wall_clock() + 46)  # the monotonic clock stood still
        assert database.run(None, lambda tx: tx.value(PID)) != first
        assert frozen is not None
        assert frozen.closed

    def test_none_is_there_before_it_is_needed(self, cluster: Cluster, database_name: str) -> None:
        def never(seconds: float) -> Connection:
            raise AssertionError

        assert Database(never)._connection is None  # so that a snapshot holds none

    def test_a_schema_that_is_older_than_the_code_is_something_to_wait_for(self, database: Database) -> None:
        for statement in ("SELECT nothing FROM tenants", "SELECT 1 FROM nowhere"):
            with pytest.raises(SchemaOutdated):
                database.run(None, lambda tx, text=statement: tx.run(Query("test.new", "New.", text)))  # type: ignore[misc]
        assert database.run(None, lambda tx: tx.value(COUNT)) == 0


class TestPreparing:
    """Statements that come again are prepared, and nothing is sent on which a proxy pins."""

    def test_what_comes_again_is_prepared_and_the_beginning_is_not(self, database: Database) -> None:
        for _ in range(20):
            with database.transaction(None) as tx:
                tx.value(SETTING, name="statement_timeout")
        assert database.run(None, lambda tx: tx.all(TEXTS, Text)) == [Text("SELECT current_setting($1)")]

    def test_after_an_error_all_is_prepared_still(self, database: Database, tmp_path: Path, now: datetime) -> None:
        ours = uuid4()
        for _ in range(7):
            database.run(ours, Work(now, lambda tx: None))
        kept, pid = database.run(None, lambda tx: (tx.value(PREPARED), tx.value(PID)))
        with sent(database, tmp_path / "sent") as messages:
            with pytest.raises(ZeroDivisionError):
                database.run(ours, Work(now, lambda tx: 1 // 0))
            with pytest.raises(psycopg.errors.NotNullViolation), database.transaction(ours) as tx:
                tx.run(INSERT, slug=None, now=now)
            assert database.run(None, lambda tx: (tx.value(PREPARED), tx.value(PID))) == (kept, pid)
        assert kept >= 1
        assert "ROLLBACK" in messages()
        assert not [word for word in ("DEALLOCATE", "DISCARD", "PREPARE ") if word in messages()]

    def test_a_query_with_a_custom_plan_is_never_prepared(self, database: Database) -> None:
        anew = Query("test.anew", "Planned for its parameters.", "SELECT 1 AS statement", is_unprepared=True)
        with database.transaction(None) as tx:
            for _ in range(10):
                tx.value(anew)
                tx.run(anew)
                tx.all(anew, Text)
                tx.first(anew, Text)
            assert tx.value(PREPARED) == 0

    def test_hundreds_are_prepared_and_none_is_given_up(self, database: Database, tmp_path: Path) -> None:
        with sent(database, tmp_path / "sent") as messages, database.transaction(None) as tx:
            for number in 6 * [*range(150)]:
                tx.value(Query("test.many", "One of many.", f"SELECT {number}"))
            assert tx.value(PREPARED) == 150
        assert "DEALLOCATE" not in messages()

    def test_a_migration_meanwhile_has_the_work_done_again_on_a_new_connection(
        self, database: Database, database_name: str, cluster: Cluster, now: datetime
    ) -> None:
        everything = Query("test.everything", "Whole rows.", "SELECT * FROM tenants")
        ours, work = uuid4(), Work(now, lambda tx: tx.run(everything), times=10)
        for _ in range(7):
            database.run(ours, work)
        with cluster.connect_as_superuser(database_name) as owner:
            owner.execute("ALTER TABLE tenants ADD COLUMN later int")
        assert database.run(ours, work) == "done"
        assert work.calls == 7 + 2


@dataclass(frozen=True)
class Text:
    """A prepared statement."""

    statement: str


TEXTS = Query("test.texts", "What is prepared.", "SELECT statement FROM pg_prepared_statements ORDER BY statement")


@contextmanager
def sent(database: Database, into: Path) -> Iterator[Callable[[], str]]:
    """Everything that is said on the database's connection, as libpq tells it."""
    database.run(None, lambda tx: tx.value(PID))
    connection = database._connection
    assert connection is not None
    with into.open("w") as file:
        connection.pgconn.trace(file.fileno())
        yield into.read_text
        connection.pgconn.untrace()


class Wire:
    """TCP to the database's socket. Cut, the first line stays open and says nothing any more: a dead host's proxy."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.cut = False
        self.lines = 0
        self._open: list[socket.socket] = [self._listening]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.socket(socket.AF_UNIX)
                far.connect(str(self._path))
                self.lines += 1
                self._open += [near, far]
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, sink, self.lines), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket, line: int) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if not self.cut or line > 1:
                    sink.sendall(data)


class TestSilence:
    """A line that is open and dead: what TCP itself never notices."""

    @pytest.fixture
    def wire(self, cluster: Cluster, database_name: str) -> Iterator[Wire]:
        folder = cluster.connection_parameters(database_name, APP_ROLE)["host"]
        made = Wire(next(Path(folder).glob(".s.PGSQL.*[0-9]")))
        yield made
        made.close()

    @pytest.fixture(autouse=True)
    def stalled_transactions_end_at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Else the repeated work would wait for the locks of the one that was cut off, for ten seconds."""
        assert postgres._IDLE_IN_TRANSACTION_MS < postgres._MAX_STATEMENT_MS
        monkeypatch.setattr(postgres, "_BEGIN", postgres._BEGIN.replace("= 10000", "= 100"))

    @pytest.fixture
    def behind(self, wire: Wire, database_name: str) -> Iterator[Database]:
        where = {
            "host": "127.0.0.1",
            "port": wire.port,
            "user": APP_ROLE,
            "password": APP_PASSWORD,
            "dbname": database_name,
        }
        opened = Database(connector(where))
        yield opened
        opened.close()

    def test_a_silent_line_is_replaced_within_the_stated_seconds(
        self, wire: Wire, behind: Database, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert postgres._BEGIN_TIMEOUT_SECONDS == 12
        monkeypatch.setattr(postgres, "_BEGIN_TIMEOUT_SECONDS", 1.0)
        first = behind.run(None, lambda tx: tx.value(PID))
        wire.cut = True
        started = time.monotonic()
        assert behind.run(None, lambda tx: tx.value(PID)) != first
        assert (wire.lines, time.monotonic() - started < 2.5) == (2, True)

    def test_silence_in_the_middle_is_over_when_the_time_is_and_the_work_is_done_again(
        self, wire: Wire, behind: Database, now: datetime
    ) -> None:
        def cut(tx: Transaction) -> None:
            wire.cut = True
            tx.value(PID)

        ours, work = uuid4(), Work(now, cut)
        behind.set_time_limit(lambda: 0.5)
        started = time.monotonic()
        assert behind.run(ours, work) == "done"
        assert 1.4 < time.monotonic() - started < 4
        assert (work.calls, tenants(behind, ours)) == (2, 1)
