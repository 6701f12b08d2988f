"""The PostgreSQL connection of a sandbox, used for short transactions as one tenant.

A transaction begins by setting the tenant, locally to itself; row-level security does the rest, so a
query that forgets its WHERE still sees one tenant only. The connection is never trusted after a freeze
or a restore: one that lay idle is replaced, and so is one that the first statement finds dead. Work that
may be repeated (`run`) is repeated once on a new connection when it loses its own in the middle. No answer
is waited for longer than it can take: a peer may vanish without a word, and a proxy keeps the line open.
Statements that come again are prepared, and stay so as long as the connection lives (docs/decisions/0034).
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import psycopg

from parlour.infra.connection import Connection, OpenConnection, SecondsLeft, connector
from parlour.infra.errors import DatabaseUnavailable, SchemaOutdated, StatementTooSlow
from parlour.infra.transaction import StatementCounts, Transaction, jsonb, reader_name
from parlour.principal import Principal

__all__ = [
    "Connection",
    "Database",
    "OpenConnection",
    "SecondsLeft",
    "StatementCounts",
    "Transaction",
    "connector",
    "jsonb",
]

_MAX_IDLE = timedelta(seconds=45)
"""A connection unused for longer is replaced unasked: after a freeze it may be half open, and its first statement
would wait ten seconds to find out. By the wall clock, since the monotonic one stands still while frozen."""

_MAX_STATEMENT_MS = 20_000
"""What the role allows too (0001_schema.sql); the time that is left may allow less."""

_MIN_STATEMENT_MS = 500

_IDLE_IN_TRANSACTION_MS = 10_000
"""No transaction waits for somebody else, so one that says nothing for so long has stalled: its locks are freed
before whoever waits for them gives up."""

_BEGIN_TIMEOUT_SECONDS = 12.0
"""How long BEGIN may take: the proxy waits up to ten seconds for a connection of its own."""

_GRACE_SECONDS = 1.0
"""How much later than the database itself we give a statement up."""

_BEGIN = (
    "BEGIN; SET LOCAL app.tenant_id = '{}'; SET LOCAL app.reader = '{}'; SET LOCAL statement_timeout = {};"
    f" SET LOCAL idle_in_transaction_session_timeout = {_IDLE_IN_TRANSACTION_MS}"
)
"""All in one round trip. The simple protocol takes no parameters; what is put in is a UUID or
nothing, a kind with a UUID or nothing, and a number.
RDS Proxy pins a connection on SET and on `set_config`, but not on SET LOCAL."""

_UNPREPARED = (
    psycopg.errors.FeatureNotSupported,  # "cached plan must not change result type"
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)
"""How the server refuses what a connection prepared earlier."""


class Database:
    """A lazily opened connection and the transactions on it. Not shared between threads."""

    def __init__(self, connect: OpenConnection) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._seconds_left: SecondsLeft | None = None
        self._last_used = 0.0
        self._is_busy = False
        self.statements = StatementCounts()

    def clone(self) -> "Database":
        """Return another one, with a connection of its own: for another thread."""
        other = Database(self._connect)
        other.set_time_limit(self._seconds_left)
        return other

    def set_time_limit(self, seconds_left: SecondsLeft | None) -> None:
        """Set the deadline of the invocation: neither opening a connection nor a statement outlives it."""
        self._seconds_left = seconds_left

    def run[R](self, principal: Principal | UUID | None, work: Callable[[Transaction], R], /) -> R:
        """Return what `work` returns, once it is committed; it may be called twice.

        When the connection dies in the middle, the work is done again on a new one, once. Nobody can tell whether the
        first commit arrived, so work must be idempotent. Raises DatabaseUnavailable when that failed too, and
        StatementTooSlow at once.
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

        A user does not see what others created and nobody accepted (`Transaction.read_as`).

        Raises DatabaseUnavailable when the database cannot be reached or goes away; what was not
        committed is as if it had never been, so the caller's caller may simply run it again. SchemaOutdated
        when a table or column is not there yet. RuntimeError inside another one: it would commit that one's half.
        """
        if self._is_busy:
            raise RuntimeError("a transaction is open on this database: pass its `tx` on instead of opening another")
        connection = self._begin(principal)
        self._is_busy = True
        try:
            with self._translate_errors(connection):
                yield Transaction(connection, self.statements)
                connection.commit()
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

    @contextmanager
    def _translate_errors(self, connection: Connection) -> Iterator[None]:
        """Translate psycopg's errors into Parlour's; a broken connection is dropped."""
        try:
            yield
        except psycopg.Error as error:
            if _is_unusable(error, connection):
                self.close()
                slow = isinstance(error, psycopg.errors.QueryCanceled)
                raise (StatementTooSlow if slow else DatabaseUnavailable) from error
            if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
                raise SchemaOutdated from error
            raise

    def remaining_seconds(self) -> float:
        """Return how long the invocation still has; infinite without a deadline."""
        return self._seconds_left() if self._seconds_left else math.inf

    def _begin(self, principal: Principal | UUID | None) -> Connection:
        reused = self._connection is not None
        try:
            return self._open(principal)
        except psycopg.OperationalError as error:
            self.close()
            if not reused:
                raise DatabaseUnavailable from error
        try:
            return self._open(principal)
        except psycopg.OperationalError as error:
            self.close()
            raise DatabaseUnavailable from error

    def _open(self, principal: Principal | UUID | None) -> Connection:
        is_stale = time.time() - self._last_used > _MAX_IDLE.total_seconds()
        if self._connection is not None and (is_stale or self._connection.closed):
            self.close()
        if self._connection is None:
            self._connection = self._connect(self.remaining_seconds())
        connection = self._connection
        self._last_used = time.time()
        self.statements.add("begin")
        allowed_ms = int(max(_MIN_STATEMENT_MS, min(_MAX_STATEMENT_MS, self.remaining_seconds() * 1000)))
        connection.timeout_seconds = lambda: min(_BEGIN_TIMEOUT_SECONDS, self._timeout_seconds())
        tenant = principal.tenant_id if isinstance(principal, Principal) else principal
        reader = reader_name(principal) if isinstance(principal, Principal) else ""
        said = _BEGIN.format("" if tenant is None else UUID(str(tenant)), reader, allowed_ms)
        connection.execute_simple(said.encode())
        connection.timeout_seconds = self._timeout_seconds
        return connection

    def _timeout_seconds(self) -> float:
        return max(0.0, min(_MAX_STATEMENT_MS / 1000, self.remaining_seconds())) + _GRACE_SECONDS

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.roll_back()
        except psycopg.OperationalError:
            self.close()


def _is_unusable(error: psycopg.Error, connection: Connection) -> bool:
    """Whether the connection is not to be used again. Read-only: after a failover, this is the old writer. What it has
    prepared may be of a schema that was migrated since, or unknown to the server behind a proxy."""
    lost = isinstance(error, psycopg.OperationalError | psycopg.errors.ReadOnlySqlTransaction)
    return lost or isinstance(error, _UNPREPARED) or connection.broken or connection.closed
