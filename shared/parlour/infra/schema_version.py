"""Whether the database has every migration of this release."""

from dataclasses import dataclass

from parlour.infra import migrator
from parlour.infra.postgres import Database
from parlour.infra.queries import Query

_APPLIED = Query("infra.applied_migrations", "Applied migrations.", "SELECT version FROM list_applied_migrations()")


@dataclass(frozen=True, slots=True)
class _AppliedMigration:
    version: int


def list_missing_migrations(database: Database) -> list[str]:
    """Return the names of this release's migrations that the database does not have. The app role may ask."""
    with database.transaction(None) as tx:
        applied = {row.version for row in tx.all(_APPLIED, _AppliedMigration)}
    return [migration.name for migration in migrator.list_migrations() if migration.version not in applied]
