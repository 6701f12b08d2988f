"""Named queries inside one open transaction, and what each of them is told to PostgreSQL with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from parlour.infra.connection import Connection
from parlour.infra.queries import Query

PLANS_ONCE, _PLANS = "SET LOCAL plan_cache_mode = force_generic_plan", "SET LOCAL plan_cache_mode = auto"
"""Before a statement that is planned once for all parameters, and before the next that is planned for its own; those
between are prepared, and have a plan for all by then."""


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

    def first[R](self, query: Query, record: type[R], /, **parameters: object) -> R | None:
        """The first row as `record`, or None."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._prepare(query, parameters), prepare=prepared(query)).fetchone()

    def one[R](self, query: Query, record: type[R], /, **parameters: object) -> R:
        """The only row as `record`; a missing row is a bug of ours and raises LookupError."""
        row = self.first(query, record, **parameters)
        if row is None:
            raise LookupError(f"{query.name} returned no row")
        return row

    def all[R](self, query: Query, record: type[R], /, **parameters: object) -> list[R]:
        """Every row as `record`."""
        with self._connection.cursor(row_factory=class_row(record)) as cursor:
            return cursor.execute(*self._prepare(query, parameters), prepare=prepared(query)).fetchall()

    def value(self, query: Query, /, **parameters: object) -> Any:
        """The first column of the first row, or None."""
        row = self._connection.execute(*self._prepare(query, parameters), prepare=prepared(query)).fetchone()
        return None if row is None else row[0]

    def run(self, query: Query, /, **parameters: object) -> int:
        """Execute and say how many rows were touched."""
        return self._connection.execute(*self._prepare(query, parameters), prepare=prepared(query)).rowcount

    def run_many(self, query: Query, rows: Sequence[Mapping[str, object]], /) -> None:
        """Execute once per row in one round trip (psycopg pipelines it)."""
        if not rows:
            return
        self._statements.note(query.name, rows)
        with self._connection.cursor() as cursor:
            cursor.executemany(query.sql.encode(), [adapt(row) for row in rows])

    def _prepare(self, query: Query, parameters: Mapping[str, object]) -> tuple[bytes, dict[str, object]]:
        if (query.once and not self._plans_once) or (query.anew and self._plans_once):
            self._plans_once = query.once
            self._connection.send((PLANS_ONCE if query.once else _PLANS).encode())
        self._statements.note(query.name, parameters)
        return query.sql.encode(), adapt(parameters)


def jsonb(value: object) -> Jsonb:
    """`value` as a jsonb parameter; dicts are taken for jsonb as they are, a list is an array unless marked so."""
    return Jsonb(value)


def prepared(query: Query) -> bool | None:
    """What psycopg is told: never, or when it has run often enough."""
    return False if query.anew else None


def adapt(parameters: Mapping[str, object]) -> dict[str, object]:
    return {name: Jsonb(value) if isinstance(value, dict) else value for name, value in parameters.items()}
