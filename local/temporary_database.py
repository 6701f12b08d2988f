"""A PostgreSQL of one's own for as long as a block lasts: what tests and benchmarks run on."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from local.database import APP_ROLE, Cluster
from parlour.infra.postgres import Database, connector

APP_PASSWORD = "app"


@contextmanager
def temporary_cluster(parent: Path | None = None) -> Iterator[Cluster]:
    """A cluster in a folder that goes with it, in `parent` or where temporary folders are.

    Not under pytest's own folder: every new run makes that one private to its user again, and as root the server
    runs as another user, who is then shut out in the middle of a test.
    """
    with tempfile.TemporaryDirectory(prefix="parlour-", dir=parent) as folder:
        Path(folder).chmod(0o755)
        running = Cluster(Path(folder) / "data")
        try:
            yield running
        finally:
            running.stop()


@contextmanager
def temporary_database() -> Iterator[Database]:
    """An empty, migrated database, as the app role."""
    with temporary_cluster() as running, closing(create_migrated_database(running)) as made:
        yield made


def create_migrated_database(running: Cluster) -> Database:
    """The database `scratch` of a cluster, new, empty and migrated, as the app role."""
    running.create("scratch")
    running.migrate("scratch", datetime.now(UTC), APP_PASSWORD)
    return Database(connector(running.connection_parameters("scratch", APP_ROLE, APP_PASSWORD)))
