"""The owner's function: brings the schema to this release."""

import functools
import math
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import parameters
from parlour.bootstrap.embedding import models
from parlour.infra import vector_indexes
from parlour.infra.migrate import allow_login, migrate, shipped
from parlour.infra.postgres import connector
from parlour.infra.settings import MigrateSettings, load


@functools.cache
def build_migrate() -> Callable[[], list[str]]:
    """Apply what is missing, let the app role sign in, index the vectors of every model that the deployment names.

    Returns the names of the migrations applied.
    """
    settings = load(MigrateSettings)
    secrets = clients.secrets()

    def run_migrations() -> list[str]:
        host, name = settings.database_host, settings.database_name
        owner = connector(parameters(secrets.get(settings.owner_secret), host, name))
        app = parameters(secrets.get(settings.database_secret), host, name)
        with owner(math.inf) as connection:
            applied = migrate(connection, datetime.now(UTC), shipped())
            allow_login(connection, str(app["user"]), str(app["password"]))
            vector_indexes.build(connection, {one.space: one.dimensions for one in models(settings)})
        return applied

    return run_migrations
