"""The database connection of a function."""

import json
from collections.abc import Callable
from typing import Any

import psycopg

from parlour.infra.errors import Misconfigured
from parlour.infra.postgres import Database, connector
from parlour.infra.secrets import Secrets
from parlour.infra.settings import DatabaseSettings

_WAKING_SECONDS = 25
"""A paused Aurora takes up to 15 seconds to wake."""


def parameters(secret: str, host: str, name: str) -> dict[str, str | int]:
    """libpq's parameters from a secret (username, password, on a laptop also host and dbname) and the settings.

    A host given by the deployment is across a network: the connection to it is encrypted.
    """
    try:
        given = json.loads(secret)
        user, password = given["username"], given["password"]
    except (ValueError, KeyError, TypeError):
        raise Misconfigured('a database secret must be JSON: {"username": "...", "password": "..."}') from None
    found: dict[str, str | int] = {"user": user, "password": password, "dbname": given.get("dbname") or name}
    if host:
        return {**found, "host": host, "sslmode": "require"}
    return {**found, "host": given.get("host", ""), **({"port": given["port"]} if given.get("port") else {})}


def database(settings: DatabaseSettings, secrets: Secrets) -> Database:
    """The app role's database; the secret is read when a connection is opened, so that a rotated one is picked up."""

    def connect() -> psycopg.Connection[Any]:
        secret = secrets.get(settings.database_secret)
        found = parameters(secret, settings.database_host, settings.database_name)
        patience = {"connect_timeout": _WAKING_SECONDS} if settings.database_idle else {}
        return connector({**found, **patience})()

    return Database(connect)


def closing[**P, R](database: Database, settings: DatabaseSettings, act: Callable[P, R]) -> Callable[P, R]:
    """`act`, letting the connection go afterwards where the database is to pause when idle."""
    if not settings.database_idle:
        return act

    def acting(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return act(*args, **kwargs)
        finally:
            database.close()

    return acting
