"""The PostgreSQL connection of a sandbox, used for short transactions as one tenant, and one beside it.

A transaction begins by setting the tenant, locally to itself; row-level security does the rest, so a
query that forgets its WHERE still sees one tenant only. The connection is never trusted after a freeze
or a restore: one that lay idle is replaced, and so is one that the first statement finds dead. Work that
may be repeated (`run`) is repeated once on a new connection when it loses its own in the middle. No answer
is waited for longer than it can take: a peer may vanish without a word, and a proxy keeps the line open.
Statements that come again are prepared, and stay so as long as the connection lives (docs/decisions/0034).
What takes the database longer is read beside: on a second connection, while the first one is at work. Who reads there
can do without, so it is not waited for as long as for the first to be opened.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from uuid import UUID

import psycopg
from psycopg.rows import class_row

from parlour.infra.connection import Connect, Connection, SecondsLeft, connector
from parlour.infra.errors import DatabaseUnavailable, ParlourError, SchemaOutdated, StatementTooSlow
from parlour.infra.queries import Query
from parlour.infra.transaction import PLANS_ONCE, Statements, Transaction, adapt, jsonb, prepared
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

_BESIDE_SECONDS = 2.0
"""How long the second connection may take to open: a turn waits for it, and can do without."""

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
RDS Proxy pins a connection on SET and on `set_config`, but not on SET LOCAL."""

_UNPREPARED = (
    psycopg.errors.FeatureNotSupported,  # "cached plan must not change result type"
    psycopg.errors.InvalidSqlStatementName,
    psycopg.errors.DuplicatePreparedStatement,
)
"""How the server refuses what a connection prepared earlier."""


class Database:
    """A lazily opened connection and the transactions on it, and one more to read on beside. Not shared between
    threads.

    is_warm  the connection was open when the invocation began, or nobody said that one did: a second one pays.
    """

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._connection: Connection | None = None
        self._second: Database | None = None
        self.is_warm = True
        self._seconds_left: SecondsLeft | None = None
        self._last_used = 0.0
        self._is_busy = False
        self.statements = Statements()

    def limit(self, seconds_left: SecondsLeft | None) -> None:
        """An invocation begins: neither opening a connection nor a statement outlives it."""
        self._seconds_left = seconds_left
        self.is_warm = self._connection is not None and not self._is_stale

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
        connection = self._begin(_tenant(principal))
        self._is_busy = True
        try:
            with self._told(connection):
                yield Transaction(connection, self.statements)
                connection.commit()
        except BaseException:
            self._roll_back()
            raise
        finally:
            self._is_busy = False

    @property
    def beside(self) -> "Database":
        """A second connection, opened when it is first used, for what is read while this one is at work."""
        if self._second is None:
            self._second = Database(lambda seconds: self._connect(min(seconds, _BESIDE_SECONDS)))
            self._second.statements = self.statements
        self._second.limit(self._seconds_left)
        return self._second

    @contextmanager
    def reading[R](
        self, principal: Principal | UUID | None, query: Query, record: type[R], /, **parameters: object
    ) -> Iterator[Callable[[], list[R]]]:
        """Send a transaction of one statement, and give what waits for its rows. It is sent whole, so that nothing is
        held for somebody who is waiting for something else. Both raise as `transaction` does; what is not asked for is
        waited for as well, when it is left."""
        if self._is_busy:
            raise RuntimeError("a transaction is open on this database: read on the one beside it")
        try:
            connection = self._opened()
        except psycopg.OperationalError as error:
            raise DatabaseUnavailable from error
        self._is_busy = True
        with ExitStack() as sending:

            def rows() -> list[R]:
                with self._told(connection):
                    sending.close()
                    return cursor.fetchall()

            beginning = [*self._beginning(_tenant(principal)).split("; "), *([PLANS_ONCE] if query.once else [])]
            try:
                with self._told(connection):
                    cursor = connection.cursor(row_factory=class_row(record))
                    pipeline = sending.enter_context(connection.pipeline())
                    self.statements.note("begin")
                    connection.send_ahead(pipeline, *beginning)
                    self.statements.note(query.name, parameters)
                    cursor.execute(query.sql.encode(), adapt(parameters), prepare=prepared(query))
                    connection.send_ahead(pipeline, "COMMIT")
                    connection.end(pipeline)
                yield rows
            finally:
                with suppress(ParlourError, psycopg.Error), self._told(connection):
                    sending.close()  # nobody asked for them
                self._roll_back()
                self._is_busy = False

    def close(self) -> None:
        """Let the connections go; the next transaction opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if self._second is not None:
            self._second.close()

    @contextmanager
    def _told(self, connection: Connection) -> Iterator[None]:
        """What psycopg raises, as the errors of this house; a connection that is gone is let go."""
        try:
            yield
        except psycopg.Error as error:
            if _is_gone(error, connection):
                self.close()
                slow = isinstance(error, psycopg.errors.QueryCanceled)
                raise (StatementTooSlow if slow else DatabaseUnavailable) from error
            if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
                raise SchemaOutdated from error
            raise

    def _beginning(self, tenant: UUID | None) -> str:
        """What a transaction is told first."""
        return _BEGIN_AS.format("" if tenant is None else UUID(str(tenant)), self._allowed)

    @property
    def _is_stale(self) -> bool:
        return time.time() - self._last_used > _TRUSTED_IDLE.total_seconds()

    @property
    def _allowed(self) -> int:
        """Milliseconds that a statement may take."""
        return int(max(_LEAST_STATEMENT_MS, min(_LONGEST_STATEMENT_MS, self._left() * 1000)))

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
        connection = self._opened()
        self.statements.note("begin")
        connection.patience = lambda: min(_FIRST_ANSWER_SECONDS, self._patience())
        connection.send(self._beginning(tenant).encode())
        connection.patience = self._patience
        return connection

    def _opened(self) -> Connection:
        if self._connection is not None and (self._is_stale or self._connection.closed):
            self.close()
        if self._connection is None:
            self._connection = self._connect(self._left())
        self._connection.patience = self._patience
        self._last_used = time.time()
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


def _tenant(principal: Principal | UUID | None) -> UUID | None:
    return principal.tenant_id if isinstance(principal, Principal) else principal


def _is_gone(error: psycopg.Error, connection: Connection) -> bool:
    """Whether the connection is not to be used again. Read-only: after a failover, this is the old writer. What it has
    prepared may be of a schema that was migrated since, or unknown to the server behind a proxy."""
    lost = isinstance(error, psycopg.OperationalError | psycopg.errors.ReadOnlySqlTransaction)
    return lost or isinstance(error, _UNPREPARED) or connection.broken or connection.closed
