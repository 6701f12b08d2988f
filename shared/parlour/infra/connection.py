"""A connection to PostgreSQL that waits for no answer longer than it can take, and how one is opened."""

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import psycopg
from psycopg import generators, pq
from psycopg.abc import PQGen
from psycopg.errors import error_from_result
from psycopg.types.json import set_json_dumps, set_json_loads
from pydantic_core import from_json, to_json

from parlour.infra.json_values import canonical_json

_CONNECT_SECONDS = 10
_MIN_CONNECT_SECONDS = 2
"""libpq takes no less for an answer to a connection's opening."""

_KEEPALIVE = {
    "tcp_user_timeout": 10_000,  # milliseconds: keepalives do not run while something sent waits for its receipt
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}

type SecondsLeft = Callable[[], float]
"""How long the invocation has still to live."""


class Connection(psycopg.Connection[Any]):
    """A connection that waits no longer than `patience` seconds for an answer.

    The server's own timeouts are of no use when the server is gone, nor TCP's when something in between still answers.
    """

    timeout_seconds: SecondsLeft = staticmethod(lambda: math.inf)

    def wait[R](self, gen: PQGen[R], *arguments: Any, **named: Any) -> R:
        """Wait for psycopg's generator; OperationalError at the deadline, and the connection is unusable then."""
        return super().wait(_with_deadline(gen, time.monotonic() + self.timeout_seconds()), *arguments, **named)

    def execute_simple(self, statements: bytes) -> None:
        """Run statements that take no parameters and return nothing, by the simple protocol."""
        self.pgconn.send_query(statements)
        for result in self.wait(generators.execute(self.pgconn)):
            if result.status != pq.ExecStatus.COMMAND_OK:
                raise error_from_result(result, encoding=self.info.encoding)

    def roll_back(self) -> None:
        """Roll back, and keep what is prepared: psycopg's own rollback sends DEALLOCATE ALL with it, on which RDS Proxy
        pins. Raises psycopg.OperationalError when the connection is of no more use."""
        if self.pgconn.transaction_status == pq.TransactionStatus.IDLE:
            return
        self.pgconn.send_query(b"ROLLBACK")
        self.wait(generators.execute(self.pgconn))
        if self.pgconn.transaction_status != pq.TransactionStatus.IDLE:
            raise psycopg.OperationalError("the transaction could not be rolled back")


type OpenConnection = Callable[[float], Connection]
"""Opens a connection within so many seconds."""


def connector(parameters: Mapping[str, str | int]) -> OpenConnection:
    """How to open a connection with libpq's `parameters`, keepalives and prepared statements that are never given up.

    RDS Proxy refuses the start-up packet's `options`; the app role's time zone and statement timeout are therefore the
    role's own settings (0001_schema.sql).
    """

    def connect(seconds: float = math.inf) -> Connection:
        given = {"connect_timeout": _CONNECT_SECONDS, **_KEEPALIVE, **parameters}
        patience = max(_MIN_CONNECT_SECONDS, min(int(given["connect_timeout"]), seconds))
        connection = Connection.connect(
            **{**given, "connect_timeout": int(patience)},  # type: ignore[arg-type]
            autocommit=True,  # a transaction is begun together with its tenant, not before
        )
        connection.prepared_max = None  # the statements of a function are few, and giving one up may pin as well
        set_json_dumps(_dumps, connection)
        set_json_loads(_loads, connection)
        return connection

    return connect


def _dumps(value: object) -> str | bytes:
    """JSON as pydantic writes it, in half the time of the standard library; that one writes what pydantic will not,
    such as what is nested three hundred levels deep."""
    try:
        return to_json(value)
    except ValueError:
        return canonical_json(value)


def _loads(text: str | bytes) -> object:
    try:
        return from_json(text)
    except ValueError:
        return json.loads(text)


def _with_deadline[R](gen: PQGen[R], deadline: float) -> PQGen[R]:
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
