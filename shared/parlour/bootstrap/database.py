"""The database connection of a function."""

import json
from collections.abc import Callable
from pathlib import Path

import parlour.infra
from parlour.infra.errors import Misconfigured
from parlour.infra.postgres import Connection, Database, SecondsLeft, connector
from parlour.infra.secrets import SecretStore
from parlour.infra.settings import DatabaseSettings

#: A paused Aurora resumes within 15 seconds, after a day within 30. An invocation that ends sooner waits no longer.
_AURORA_WAKE_SECONDS = 40

_CERTIFICATE_AUTHORITIES = str(Path(parlour.infra.__file__).with_name("database_ca.pem"))
"""Who signs the certificates of Aurora and of RDS Proxy."""


type MessageHandler[T] = Callable[[T, SecondsLeft], None]
"""What a function does with one message of its queue, in the seconds it has left."""


def connection_parameters(secret: str, host: str, name: str) -> dict[str, str | int]:
    """libpq's parameters from a secret (username, password, on a laptop also host and dbname) and the settings.

    A host given by the deployment is across a network: the connection is encrypted, and the host proves its name.
    """
    try:
        given = json.loads(secret)
        user, password = given["username"], given["password"]
    except (ValueError, KeyError, TypeError):
        raise Misconfigured('a database secret must be JSON: {"username": "...", "password": "..."}') from None
    found: dict[str, str | int] = {"user": user, "password": password, "dbname": given.get("dbname") or name}
    if host:
        return {**found, "host": host, "sslmode": "verify-full", "sslrootcert": _CERTIFICATE_AUTHORITIES}
    return {**found, "host": given.get("host", ""), **({"port": given["port"]} if given.get("port") else {})}


def make_database(settings: DatabaseSettings, secrets: SecretStore) -> Database:
    """Return the app role's database.

    The secret is read when a connection is opened, so that a rotated one takes effect.
    """

    def connect(seconds: float) -> Connection:
        secret = secrets.get(settings.database_secret)
        found = connection_parameters(secret, settings.database_host, settings.database_name)
        patience = {"connect_timeout": _AURORA_WAKE_SECONDS} if settings.database_idle else {}
        return connector({**found, **patience})(seconds)

    return Database(connect)


def with_time_limit[T](database: Database, settings: DatabaseSettings, handle: MessageHandler[T]) -> MessageHandler[T]:
    """`act`, with the database held to the time that the invocation has left.

    The connection is let go afterwards where the database is to pause when idle.
    """

    def acting(work: T, seconds_left: SecondsLeft) -> None:
        database.set_time_limit(seconds_left)
        try:
            handle(work, seconds_left)
        finally:
            if settings.database_idle:
                database.close()

    return acting
