"""Forward-only migrations: numbered SQL files, applied once each, in order, under a lock, with their checksums kept."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

import psycopg
from psycopg import sql

from parlour.infra.errors import DatabaseTooOld, MigrationConflict

_LOCK_KEY = 7_276_911_350
"""Any constant will do; it keeps two migrators from running at once."""

_CREATE_MIGRATIONS_TABLE = """
CREATE TABLE IF NOT EXISTS schema_migrations (
    version int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL)
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file: its number, its name and its text."""

    version: int
    name: str
    sql: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(self.sql.encode()).hexdigest()


def list_migrations() -> list[Migration]:
    """Return the migrations of this package, in order."""
    folder = files("parlour.infra") / "migrations"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return [Migration(int(name[:4]), name.removesuffix(".sql"), (folder / name).read_text("utf-8")) for name in found]


def apply_migrations(owner: psycopg.Connection[Any], now: datetime, migrations: Sequence[Migration]) -> list[str]:
    """Apply what is missing, each in a transaction of its own; returns the names applied.

    `owner` is a connection of the owning role. Raises MigrationConflict when an applied file has changed or is gone,
    and DatabaseTooOld when the first applied file is not this release's first; nothing is applied then.
    """
    owner.execute("SELECT pg_advisory_lock(%s)", (_LOCK_KEY,))
    try:
        owner.execute(_CREATE_MIGRATIONS_TABLE)
        owner.commit()
        rows = owner.execute("SELECT version, name, checksum FROM schema_migrations ORDER BY version").fetchall()
        owner.commit()
        known = {migration.version: migration for migration in migrations}
        for version, name, checksum in rows:
            if version == 1 and version in known and known[version].name != name:
                raise DatabaseTooOld
            if version not in known:
                raise MigrationConflict(f"migration {version:04} was applied here; deploy a release that has it")
            if known[version].checksum != checksum:
                raise MigrationConflict(
                    f"migration {known[version].name} changed after it was applied; restore it, add a new one"
                )
        done = {version for version, _, _ in rows}
        missing = [migration for migration in migrations if migration.version not in done]
        for migration in missing:
            with owner.transaction():
                owner.execute(migration.sql.encode())
                owner.execute(
                    "INSERT INTO schema_migrations VALUES (%s, %s, %s, %s)",
                    (migration.version, migration.name, migration.checksum, now),
                )
        return [migration.name for migration in missing]
    finally:
        owner.rollback()
        owner.execute("SELECT pg_advisory_unlock(%s)", (_LOCK_KEY,))
        owner.commit()


def allow_login(owner: psycopg.Connection[Any], role: str, password: str) -> None:
    """Let the app role sign in with the secret store's password; every migration does it, so rotating is migrating.

    Only a verifier is sent: a statement that fails is logged by the server, password and all.
    """
    verifier = owner.pgconn.encrypt_password(password.encode(), role.encode(), b"scram-sha-256").decode()
    statement = sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(role), sql.Literal(verifier))
    owner.execute(statement)
    owner.commit()
