"""Forward-only migrations: numbered SQL files, applied once each, in order, under a lock, with their checksums kept.

The schema changes before the code, and a failed deployment puts older code back, so code of the release before runs on
the newer schema: a migration adds. One that takes something away comes a release after the last code that used it, and
says which code that was: `-- needs code of 0044` is run by code that knows migration 0044, and refused by older code.
"""

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql

from parlour.infra.errors import DatabaseTooOld, MigrationBlocked, MigrationConflict

#: Any constant will do; it keeps two migrators from running at once.
_LOCK_KEY = 7_276_911_350

#: How long a migration waits for a table's lock. Other statements wait behind it meanwhile.
_TABLE_LOCK_MS = 3_000

_LOCK_ATTEMPTS = 20
_PAUSE_BETWEEN_ATTEMPTS_SECONDS = 5.0

_CREATE_MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL);
ALTER TABLE schema_migrations ADD COLUMN IF NOT EXISTS needs_version int NOT NULL DEFAULT 0
"""

_NEEDS_CODE = re.compile(r"^-- needs code of (\d{4})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file: its number, its name and its text."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()

    @property
    def needs_version(self) -> int:
        """The newest migration that code must know to run on the schema after this one; 0 if all code runs on it."""
        return max(map(int, _NEEDS_CODE.findall(self.sql)), default=0)


def list_migrations() -> list[Migration]:
    """Return the migrations of this package, in order."""
    folder = files("parlour.infra") / "migrations"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [Migration(int(name[:4]), name.removesuffix(".sql"), (folder / name).read_text("utf-8")) for name in found]


def apply_migrations(owner: psycopg.Connection[Any], now: datetime, migrations: Sequence[Migration]) -> list[str]:
    """Apply what is missing, each in a transaction of its own; returns the names applied.

    `owner` is a connection of the owning role. A database that is newer than `migrations` stays as it is if this code
    runs on it. Raises MigrationConflict if it does not, or when an applied file has changed or is gone, DatabaseTooOld
    when the first applied file is not this release's first (nothing is applied then), and MigrationBlocked when
    a table stays locked for minutes.
    """
    owner.execute("SELECT pg_advisory_lock(%s)", (_LOCK_KEY,))
    try:
        owner.execute(_CREATE_MIGRATIONS_TABLE)
        owner.commit()
        missing = _list_missing(owner, migrations)
        for migration in missing:
            _apply(owner, now, migration)
        return [migration.name for migration in missing]
    finally:
        owner.rollback()
        owner.execute("SELECT pg_advisory_unlock(%s)", (_LOCK_KEY,))
        owner.commit()


def _list_missing(owner: psycopg.Connection[Any], migrations: Sequence[Migration]) -> list[Migration]:
    rows = owner.execute(
        "SELECT version, name, checksum, needs_version FROM schema_migrations ORDER BY version"
    ).fetchall()
    owner.commit()
    known = {migration.version: migration for migration in migrations}
    newest = max(known, default=0)
    for version, name, checksum, needs_version in rows:
        migration = known.get(version)
        if migration is None and (version < newest or needs_version > newest):
            raise MigrationConflict(f"migration {version:04} was applied here; deploy a release that has it")
        if migration is not None and migration.name != name and version == 1:
            raise DatabaseTooOld
        if migration is not None and migration.checksum != checksum:
            raise MigrationConflict(
                f"migration {migration.name} changed after it was applied; restore it, add a new one"
            )
    applied = {version for version, *_ in rows}
    return [migration for migration in migrations if migration.version not in applied]


def _apply(owner: psycopg.Connection[Any], now: datetime, migration: Migration) -> None:
    for _ in range(_LOCK_ATTEMPTS):
        try:
            with owner.transaction():
                owner.execute(f"SET LOCAL lock_timeout = {_TABLE_LOCK_MS}")
                owner.execute(migration.sql.encode())
                owner.execute(
                    "INSERT INTO schema_migrations (version, name, checksum, applied_at, needs_version)"
                    " VALUES (%s, %s, %s, %s, %s)",
                    (migration.version, migration.name, migration.checksum, now, migration.needs_version),
                )
        except psycopg.errors.LockNotAvailable:
            time.sleep(_PAUSE_BETWEEN_ATTEMPTS_SECONDS)
        else:
            return
    raise MigrationBlocked(
        f"migration {migration.name} waits for a table that a transaction holds: find it in"
        " pg_stat_activity, end it, and deploy again"
    )


def allow_login(owner: psycopg.Connection[Any], role: str, password: str) -> None:
    """Let the app role sign in with the secret store's password; every migration does it, so rotating is migrating.

    Only a verifier is sent: a statement that fails is logged by the server, password and all.
    """
    verifier = owner.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier))
    owner.execute(statement)
    owner.commit()
