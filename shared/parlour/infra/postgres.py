"""One PostgreSQL connection per sandbox, used for short transactions as one tenant.

A transaction begins by setting the tenant, locally to itself; row-level security does the rest, so a
query that forgets its WHERE still sees one tenant only. The connection is never trusted after a freeze
or a restore: when that first statement finds it dead, it is replaced once, before any work was done.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import psycopg
from psycopg.rows import class_row
from psycopg.types.json import Jsonb, set_json_dumps

from parlour.infra.errors import DatabaseUnavailable
from parlour.infra.jsonable import canonical
from parlour.infra.queries import Query
from parlour.principal import Principal

_CONNECT_SECONDS = 10
_KEEPALIVE = {
    "tcp_user_timeout": 10_000,  # milliseconds: keepalives do not run while something sent waits for its receipt
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_BEGIN_AS = "BEGIN; SET LOCAL app.tenant_id = '{}'"
"""Both in one round trip. The simple protocol takes no parameters; what is put in is a UUID or nothing.
RDS Proxy pins a connection on SET, but not on SET LOCAL."""


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

    def first[R](self, query: Query, record: type[R], /, **parameters: object) -> R | None:
        """The first row as `record`, or None."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._prepare(query, parameters)).fetchone()

    def one[R](self, query: Query, record: type[R], /, **parameters: object) -> R:
        """The only row as `record`; a missing row is a bug of ours and raises LookupError."""
        row = self.first(query, record, **parameters)
        if row is None:
            raise LookupError(f"{query.name} returned no row")
        return row

    def all[R](self, query: Query, record: type[R], /, **parameters: object) -> list[R]:
        """Every row as `record`."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._prepare(query, parameters)).fetchall()

    def value(self, query: Query, /, **parameters: object) -> Any:
        """The first column of the first row, or None."""
        row = self._connection.execute(*self._prepare(query, parameters)).fetchone()
        return None if row is None else row[0]

    def run(self, query: Query, /, **parameters: object) -> int:
        """Execute and say how many rows were touched."""
        return self._connection.execute(*self._prepare(query, parameters)).rowcount

    def run_many(self, query: Query, rows: Sequence[Mapping[str, object]], /) -> None:
        """Execute once per row in one round trip (psycopg pipelines it)."""
        if not rows:
            return
        self._statements.note(query.name, rows)
        with self._connection.cursor() as cursor:
            cursor.executemany(query.sql.encode(), [_adapt(row) for row in rows])

    def _prepare(self, query: Query, parameters: Mapping[str, object]) -> tuple[bytes, dict[str, object]]:
        self._statements.note(query.name, parameters)
        return query.sql.encode(), _adapt(parameters)


class Database:
    """A lazily opened connection and the transactions on it. Not shared between threads."""

    def __init__(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        self._connect = connect
        self._connection: psycopg.Connection[Any] | None = None
        self.statements = Statements()

    @contextmanager
    def transaction(self, principal: Principal | UUID | None) -> Iterator[Transaction]:
        """One transaction as the principal's tenant; None sees only the tables without tenant content.

        Raises DatabaseUnavailable when the database cannot be reached or goes away; what was not
        committed is as if it had never been, so the caller's caller may simply run it again.
        """
        tenant = principal.tenant_id if isinstance(principal, Principal) else principal
        connection = self._begin(tenant)
        try:
            yield Transaction(connection, self.statements)
            connection.commit()
        except (psycopg.OperationalError, psycopg.errors.ReadOnlySqlTransaction) as error:
            self.close()  # read-only: the cluster failed over, and this is the old writer
            raise DatabaseUnavailable from error
        except BaseException:
            self._roll_back()
            raise

    def close(self) -> None:
        """Let the connection go; the next transaction opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _begin(self, tenant: UUID | None) -> psycopg.Connection[Any]:
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

    def _open(self, tenant: UUID | None) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = self._connect()
        self.statements.note("begin")
        self._connection.execute(_BEGIN_AS.format("" if tenant is None else UUID(str(tenant))).encode())
        return self._connection

    def _roll_back(self) -> None:
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except psycopg.OperationalError:
            self.close()


def connector(parameters: Mapping[str, str | int]) -> Callable[[], psycopg.Connection[Any]]:
    """How to open a connection with libpq's `parameters`, keepalives and no prepared statements.

    RDS Proxy pins on prepared statements and refuses the start-up packet's `options`; the app role's time zone and
    statement timeout are therefore the role's own settings (migration 0001).
    """

    def connect() -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = psycopg.Connection.connect(
            **{"connect_timeout": _CONNECT_SECONDS, **_KEEPALIVE, **parameters},  # type: ignore[arg-type]
            autocommit=True,  # a transaction is begun together with its tenant, not before
            prepare_threshold=None,
        )
        set_json_dumps(canonical, connection)
        return connection

    return connect


def jsonb(value: object) -> Jsonb:
    """`value` as a jsonb parameter; dicts are taken for jsonb as they are, a list is an array unless marked so."""
    return Jsonb(value)


def _adapt(parameters: Mapping[str, object]) -> dict[str, object]:
    return {name: Jsonb(value) if isinstance(value, dict) else value for name, value in parameters.items()}
