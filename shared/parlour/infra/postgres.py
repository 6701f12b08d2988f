"""One PostgreSQL connection per sandbox, used for short transactions as one tenant.

A transaction begins by setting the tenant, locally to itself; row-level security does the rest, so a
query that forgets its WHERE still sees one tenant only. The connection is never trusted after a freeze
or a restore: one that lay idle is replaced, and so is one that the first statement finds dead. Work that
may be repeated (`run`) is repeated once on a new connection when it loses its own in the middle. No answer
is waited for longer than it can take: a peer may vanish without a word, and a proxy keeps the line open.
Statements that come again are prepared, and stay so as long as the connection lives (docs/decisions/0034).
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg import generators, pq
from psycopg.abc import PQGen
from psycopg.rows import class_row
from psycopg.types.json import Jsonb, set_json_dumps

from parlour.infra.errors import DatabaseUnavailable, SchemaOutdated, StatementTooSlow
from parlour.infra.jsonable import canonical
from parlour.infra.queries import Query
from parlour.principal import Principal

_CONNECT_SECONDS = 10
_LEAST_CONNECT_SECONDS = 2
"""libpq takes no less for an answer to a connection's opening."""

_TRUSTED_IDLE = timedelta(seconds=45)
"""A connection unused for longer is replaced unasked: after a freeze it may be half open, and its first statement
would wait ten seconds to find out. By the wall clock, since the monotonic one stands still while frozen."""

_LONGEST_STATEMENT_MS = 20_000
"""What the role allows too (migration 0001); the time that is left may allow less."""

_LEAST_STATEMENT_MS = 500

_IDLE_IN_TRANSACTION_MS = 10_000
"""No transaction waits for somebody else, so one that says nothing for so long has stalled: its locks are freed
before whoever waits for them gives up."""

_FIRST_ANSWER_SECONDS = 12.0
"""How long BEGIN may take: the proxy waits up to ten seconds for a connection of its own."""

_GRACE_SECONDS = 1.0
"""How much later than the database itself we give a statement up."""

_PREPARED_AFTER = 2
"""Runs on one connection before a statement is prepared, which takes a round trip more."""

_KEEPALIVE = {
    "tcp_user_timeout": 10_000,  # milliseconds: keepalives do not run while something sent waits for its receipt
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_BEGIN_AS = (
    "BEGIN; SET LOCAL app.tenant_id = '{}'; SET LOCAL statement_timeout = {};"
    f" SET LOCAL idle_in_transaction_session_timeout = {_IDLE_IN_TRANSACTION_MS}"
)
"""All in one round trip. The simple protocol takes no parameters; what is put in is a UUID or nothing, and a number.
RDS Proxy pins a connection on SET, but not on SET LOCAL."""

_LAZILY = "; SET LOCAL synchronous_commit = off"

_PLANS_ONCE, _PLANS = b"SET LOCAL plan_cache_mode = force_generic_plan", b"SET LOCAL plan_cache_mode = auto"
"""Before a statement that is planned once for all parameters, and before the next that is not."""

_UNPREPARED = (
    psycopg.errors.FeatureNotSupported,  # "cached plan must not change result type"
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)
"""How the server refuses what a connection prepared earlier."""

type SecondsLeft = Callable[[], float]
"""How long the invocation has still to live."""


class Connection(psycopg.Connection[Any]):
    """A connection that waits no longer than `patience` seconds for an answer.

    The server's own timeouts are of no use when the server is gone, nor TCP's when something in between still answers.
    """

    patience: SecondsLeft = staticmethod(lambda: math.inf)

    def wait[R](self, gen: PQGen[R], *arguments: Any, **named: Any) -> R:
        """Raises psycopg.OperationalError when patience is over; the connection is of no more use then."""
        return super().wait(_until(gen, time.monotonic() + self.patience()), *arguments, **named)

    def undo(self) -> None:
        """Roll back, and keep what is prepared: psycopg's own rollback sends DEALLOCATE ALL with it, on which RDS Proxy
        pins. Raises psycopg.OperationalError when the connection is of no more use."""
        if self.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            return
        self.pgconn.send_query(b"ROLLBACK")
        self.wait(generators.execute(self.pgconn))
        if self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            raise psycopg.OperationalError("the transaction could not be rolled back")


@dataclass(slots=True)
class Statements:
    """How many statements were sent, by name. `bench` puts one in its place that also weighs the parameters."""

    count: int = 0
    by_name: dict[str, int] = field(default_factory=dict)

    def note(self, name: str, parameters: object = None) -> None:  # noqa: ARG002 - for those who weigh them
        self.count += 1
        self.by_name[name] = self.by_name.get(name, 0) + 1


class Transaction:
    """Runs named queries inside one open transaction; one frozen record per row."""

    def __init__(self, connection: psycopg.Connection[Any], statements: Statements) -> None:
        self._connection = connection
        self._statements = statements
        self._plans_once = False

    def first[R](self, query: Query, record: type[R], /, **parameters: object) -> R | None:
        """The first row as `record`, or None."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._prepare(query, parameters), prepare=_prepared(query)).fetchone()

    def one[R](self, query: Query, record: type[R], /, **parameters: object) -> R:
        """The only row as `record`; a missing row is a bug of ours and raises LookupError."""
        row = self.first(query, record, **parameters)
        if row is None:
            raise LookupError(f"{query.name} returned no row")
        return row

    def all[R](self, query: Query, record: type[R], /, **parameters: object) -> list[R]:
        """Every row as `record`."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._prepare(query, parameters), prepare=_prepared(query)).fetchall()

    def value(self, query: Query, /, **parameters: object) -> Any:
        """The first column of the first row, or None."""
        row = self._connection.execute(*self._prepare(query, parameters), prepare=_prepared(query)).fetchone()
        return None if row is None else row[0]

    def run(self, query: Query, /, **parameters: object) -> int:
        """Execute and say how many rows were touched."""
        return self._connection.execute(*self._prepare(query, parameters), prepare=_prepared(query)).rowcount

    def run_many(self, query: Query, rows: Sequence[Mapping[str, object]], /) -> None:
        """Execute once per row in one round trip (psycopg pipelines it)."""
        if not rows:
            return
        self._statements.note(query.name, rows)
        with self._connection.cursor() as cursor:
            cursor.executemany(query.sql.encode(), [_adapt(row) for row in rows])

    def _prepare(self, query: Query, parameters: Mapping[str, object]) -> tuple[bytes, dict[str, object]]:
        if query.once is not self._plans_once:
            self._connection.execute(_PLANS_ONCE if query.once else _PLANS, prepare=False)
            self._plans_once = query.once
        self._statements.note(query.name, parameters)
        return query.sql.encode(), _adapt(parameters)


type Connect = Callable[[float], Connection]
"""Opens a connection within so many seconds."""


class Database:
    """A lazily opened connection and the transactions on it. Not shared between threads."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._seconds_left: SecondsLeft | None = None
        self._last_used = 0.0
        self._is_busy = False
        self._lazily = False
        self.statements = Statements()

    def limit(self, seconds_left: SecondsLeft | None) -> None:
        """From now on neither opening a connection nor a statement outlives the invocation."""
        self._seconds_left = seconds_left

    def run[R](
        self, principal: Principal | UUID | None, work: Callable[[Transaction], R], /, *, lazily: bool = False
    ) -> R:
        """What `work` returns, once it is committed; it may be called twice.

        When the connection dies in the middle, the work is done again on a new one, once. Nobody can tell whether
        the first commit arrived, so work must be such that doing it twice is the same as doing it once.
        Raises DatabaseUnavailable when that failed too, and StatementTooSlow at once.

        `lazily`: the commit does not wait for the disk. A server that dies may forget it, but nothing that was
        committed after it, otherwise, was kept then: for what means nothing without that.
        """
        try:
            with self.transaction(principal, lazily=lazily) as tx:
                return work(tx)
        except StatementTooSlow:
            raise
        except DatabaseUnavailable:
            with self.transaction(principal, lazily=lazily) as tx:
                return work(tx)

    @contextmanager
    def transaction(self, principal: Principal | UUID | None, *, lazily: bool = False) -> Iterator[Transaction]:
        """One transaction as the principal's tenant; None sees only the tables without tenant content.

        Raises DatabaseUnavailable when the database cannot be reached or goes away; what was not
        committed is as if it had never been, so the caller's caller may simply run it again. SchemaOutdated
        when a table or column is not there yet. RuntimeError inside another one: it would commit that one's half.
        """
        if self._is_busy:
            raise RuntimeError("a transaction is open on this database: pass its `tx` on instead of opening another")
        tenant = principal.tenant_id if isinstance(principal, Principal) else principal
        self._lazily = lazily
        connection = self._begin(tenant)
        self._is_busy = True
        try:
            yield Transaction(connection, self.statements)
            connection.commit()
        except psycopg.Error as error:
            if _is_gone(error, connection):
                self.close()
                slow = isinstance(error, psycopg.errors.QueryCanceled)
                raise (StatementTooSlow if slow else DatabaseUnavailable) from error
            self._roll_back()
            if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
                raise SchemaOutdated from error
            raise
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._is_busy = False

    def close(self) -> None:
        """Let the connection go; the next transaction opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _left(self) -> float:
        return self._seconds_left() if self._seconds_left else math.inf

    def _begin(self, tenant: UUID | None) -> Connection:
        reused = self._connection is not None
        try:
            return self._open(tenant)
        except psycopg.OperationalError as error:
            self.close()
            if not reused:
                raise DatabaseUnavailable from error
        try:
            return self._open(tenant)
        except psycopg.OperationalError as error:
            self.close()
            raise DatabaseUnavailable from error

    def _open(self, tenant: UUID | None) -> Connection:
        if self._connection is not None and time.time() - self._last_used > _TRUSTED_IDLE.total_seconds():
            self.close()
        if self._connection is None:
            self._connection = self._connect(self._left())
        self._last_used = time.time()
        self.statements.note("begin")
        allowed = int(max(_LEAST_STATEMENT_MS, min(_LONGEST_STATEMENT_MS, self._left() * 1000)))
        self._connection.patience = lambda: min(_FIRST_ANSWER_SECONDS, self._patience())
        begin = _BEGIN_AS.format("" if tenant is None else UUID(str(tenant)), allowed)
        begin += _LAZILY if self._lazily else ""
        self._connection.execute(begin.encode(), prepare=False)  # several statements in one cannot be prepared
        self._connection.patience = self._patience
        return self._connection

    def _patience(self) -> float:
        return max(0.0, min(_LONGEST_STATEMENT_MS / 1000, self._left())) + _GRACE_SECONDS

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.undo()
        except psycopg.OperationalError:
            self.close()


def connector(parameters: Mapping[str, str | int]) -> Connect:
    """How to open a connection with libpq's `parameters`, keepalives and prepared statements that are never given up.

    RDS Proxy refuses the start-up packet's `options`; the app role's time zone and statement timeout are therefore the
    role's own settings (migration 0001).
    """

    def connect(seconds: float = math.inf) -> Connection:
        given = {"connect_timeout": _CONNECT_SECONDS, **_KEEPALIVE, **parameters}
        patience = max(_LEAST_CONNECT_SECONDS, min(int(given["connect_timeout"]), seconds))
        connection = Connection.connect(
            **{**given, "connect_timeout": int(patience)},  # type: ignore[arg-type]
            autocommit=True,  # a transaction is begun together with its tenant, not before
            prepare_threshold=_PREPARED_AFTER,
        )
        connection.prepared_max = None  # the statements of a function are few, and giving one up may pin as well
        set_json_dumps(canonical, connection)
        return connection

    return connect


def jsonb(value: object) -> Jsonb:
    """`value` as a jsonb parameter; dicts are taken for jsonb as they are, a list is an array unless marked so."""
    return Jsonb(value)


def _until[R](gen: PQGen[R], deadline: float) -> PQGen[R]:
    """`gen`, unless it has nothing to do when the deadline has passed. psycopg looks in ten times a second."""
    try:
        wanted = next(gen)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() >= deadline:
                raise psycopg.OperationalError("the server did not answer in time")
            wanted = gen.send(ready)
    except StopIteration as done:
        result: R = done.value
        return result


def _is_gone(error: psycopg.Error, connection: Connection) -> bool:
    """Whether the connection is not to be used again. Read-only: after a failover, this is the old writer. What it has
    prepared may be of a schema that was migrated since, or unknown to the server behind a proxy."""
    lost = isinstance(error, psycopg.OperationalError | psycopg.errors.ReadOnlySqlTransaction)
    return lost or isinstance(error, _UNPREPARED) or connection.broken or connection.closed


def _prepared(query: Query) -> bool | None:
    """What psycopg is told: never, or when it has run often enough."""
    return False if query.anew else None


def _adapt(parameters: Mapping[str, object]) -> dict[str, object]:
    return {name: Jsonb(value) if isinstance(value, dict) else value for name, value in parameters.items()}
