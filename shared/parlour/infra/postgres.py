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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from parlour.infra.connection import Connect, Connection, SecondsLeft, connector
from parlour.infra.errors import DatabaseUnavailable, SchemaOutdated, StatementTooSlow
from parlour.infra.queries import Query
from parlour.principal import Principal

__all__ = [
    "Connect",
    "Connection",
    "Database",
    "SecondsLeft",
    "Statements",
    "Transaction",
    "connector",
    "jsonb",
]

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

_BEGIN_AS = (
    "BEGIN; SET LOCAL app.tenant_id = '{}'; SET LOCAL statement_timeout = {};"
    f" SET LOCAL idle_in_transaction_session_timeout = {_IDLE_IN_TRANSACTION_MS}"
)
"""All in one round trip. The simple protocol takes no parameters; what is put in is a UUID or nothing, and a number.
RDS Proxy pins a connection on SET, but not on SET LOCAL."""

_LAZILY = b"SET LOCAL synchronous_commit = off"

_PLANS_ONCE, _PLANS = b"SET LOCAL plan_cache_mode = force_generic_plan", b"SET LOCAL plan_cache_mode = auto"
"""Before a statement that is planned once for all parameters, and before the next that is planned for its own; those
between are prepared, and have a plan for all by then."""

_UNPREPARED = (
    psycopg.errors.FeatureNotSupported,  # "cached plan must not change result type"
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)
"""How the server refuses what a connection prepared earlier."""


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

    def __init__(self, connection: Connection, statements: Statements) -> None:
        self._connection = connection
        self._statements = statements
        self._plans_once = False
        self._to_set: list[bytes] = []

    def commit_lazily(self) -> None:
        """Have the commit not wait for the disk. A server that dies may forget it, but then it forgets whatever was
        committed after it, too: for what means nothing without that."""
        self._to_set.append(_LAZILY)

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

    @contextmanager
    def ahead[R](self, query: Query, record: type[R], /, **parameters: object) -> Iterator[Callable[[], list[R]]]:
        """Send a statement, and give what waits for its rows: there is something to do until they are there. No other
        statement before that."""
        statement, given = self._prepare(query, parameters)
        with self._connection.cursor(row_factory=class_row(record)) as cursor, ExitStack() as sending:
            sending.enter_context(self._connection.pipeline())
            cursor.execute(statement, given, prepare=_prepared(query))

            def rows() -> list[R]:
                sending.close()
                return cursor.fetchall()

            yield rows

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
        if (query.once and not self._plans_once) or (query.anew and self._plans_once):
            self._plans_once = query.once
            self._to_set.append(_PLANS_ONCE if query.once else _PLANS)
        if self._to_set:
            self._connection.send(b"; ".join(self._to_set))
            self._to_set.clear()
        self._statements.note(query.name, parameters)
        return query.sql.encode(), _adapt(parameters)


class Database:
    """A lazily opened connection and the transactions on it. Not shared between threads."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._seconds_left: SecondsLeft | None = None
        self._last_used = 0.0
        self._is_busy = False
        self.statements = Statements()

    def limit(self, seconds_left: SecondsLeft | None) -> None:
        """From now on neither opening a connection nor a statement outlives the invocation."""
        self._seconds_left = seconds_left

    def run[R](self, principal: Principal | UUID | None, work: Callable[[Transaction], R], /) -> R:
        """What `work` returns, once it is committed; it may be called twice.

        When the connection dies in the middle, the work is done again on a new one, once. Nobody can tell whether
        the first commit arrived, so work must be such that doing it twice is the same as doing it once.
        Raises DatabaseUnavailable when that failed too, and StatementTooSlow at once.
        """
        try:
            with self.transaction(principal) as tx:
                return work(tx)
        except StatementTooSlow:
            raise
        except DatabaseUnavailable:
            with self.transaction(principal) as tx:
                return work(tx)

    @contextmanager
    def transaction(self, principal: Principal | UUID | None) -> Iterator[Transaction]:
        """One transaction as the principal's tenant; None sees only the tables without tenant content.

        Raises DatabaseUnavailable when the database cannot be reached or goes away; what was not
        committed is as if it had never been, so the caller's caller may simply run it again. SchemaOutdated
        when a table or column is not there yet. RuntimeError inside another one: it would commit that one's half.
        """
        if self._is_busy:
            raise RuntimeError("a transaction is open on this database: pass its `tx` on instead of opening another")
        tenant = principal.tenant_id if isinstance(principal, Principal) else principal
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
        self._connection.send(begin.encode())
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


def jsonb(value: object) -> Jsonb:
    """`value` as a jsonb parameter; dicts are taken for jsonb as they are, a list is an array unless marked so."""
    return Jsonb(value)


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
