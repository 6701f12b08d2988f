"""Named queries inside one open transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from parlour.infra.connection import Connection
from parlour.infra.queries import Query
from parlour.principal import Principal

_NOBODY = "nobody"
"""A reader who created nothing."""


@dataclass(slots=True)
class StatementCounts:
    """How many statements were sent, in all and by name. `bench` replaces it by one that also measures parameters."""

    count: int = 0
    by_name: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, parameters: object = None) -> None:  # noqa: ARG002 - for those who weigh them
        self.count += 1
        self.by_name[name] = self.by_name.get(name, 0) + 1


class Transaction:
    """Runs named queries inside one open transaction; one frozen record per row."""

    def __init__(self, connection: Connection, statements: StatementCounts) -> None:
        self._connection = connection
        self._statements = statements

    def read_as(self, principal: Principal | None) -> None:
        """Withhold from now on the unverified rows that others than the principal created. None: withhold all of them.

        For transactions of Parlour itself that read on behalf of a user, or for a text that everybody reads.
        """
        name = _NOBODY if principal is None else reader_name(principal)
        self._connection.execute_simple(f"SET LOCAL app.reader = '{name}'".encode())

    def first[R](self, query: Query, record: type[R], /, **parameters: object) -> R | None:
        """Return the first row as `record`, or None."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._record(query, parameters), prepare=_prepare(query)).fetchone()

    def one[R](self, query: Query, record: type[R], /, **parameters: object) -> R:
        """Return the only row as `record`; a missing row is a bug and raises LookupError."""
        row = self.first(query, record, **parameters)
        if row is None:
            raise LookupError(f"{query.name} returned no row")
        return row

    def all[R](self, query: Query, record: type[R], /, **parameters: object) -> list[R]:
        """Every row as `record`."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._record(query, parameters), prepare=_prepare(query)).fetchall()

    def value(self, query: Query, /, **parameters: object) -> Any:
        """Return the first column of the first row, or None."""
        row = self._connection.execute(*self._record(query, parameters), prepare=_prepare(query)).fetchone()
        return None if row is None else row[0]

    def run(self, query: Query, /, **parameters: object) -> int:
        """Execute and say how many rows were touched."""
        return self._connection.execute(*self._record(query, parameters), prepare=_prepare(query)).rowcount

    def run_many(self, query: Query, rows: Sequence[Mapping[str, object]], /) -> None:
        """Execute once per row in one round trip (psycopg pipelines it)."""
        if not rows:
            return
        self._statements.add(query.name, rows)
        with self._connection.cursor() as cursor:
            cursor.executemany(query.sql.encode(), [adapt_parameters(row) for row in rows])

    def _record(self, query: Query, parameters: Mapping[str, object]) -> tuple[bytes, dict[str, object]]:
        self._statements.add(query.name, parameters)
        return query.sql.encode(), adapt_parameters(parameters)


def reader_name(principal: Principal) -> str:
    """Return whom row-level security reads for: a user by name; members, keys and Parlour itself see everything."""
    if principal.kind != "user":
        return ""
    return f"user:{UUID(str(principal.id))}" if principal.id else _NOBODY


def jsonb(value: object) -> Jsonb:
    """`value` as a jsonb parameter; dicts are taken for jsonb as they are, a list is an array unless marked so."""
    return Jsonb(value)


def adapt_parameters(parameters: Mapping[str, object]) -> dict[str, object]:
    return {name: Jsonb(value) if isinstance(value, dict) else value for name, value in parameters.items()}


def _prepare(query: Query) -> bool | None:
    """Return psycopg's `prepare`: never, or once it has run often enough."""
    return False if query.is_unprepared else None
