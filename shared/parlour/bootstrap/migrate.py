"""The owner's function: brings the schema to this release."""

import functools
import math
from collections.abc import Callable
from datetime import UTC, datetime

from parlour.bootstrap import clients
from parlour.bootstrap.database import connection_parameters
from parlour.bootstrap.embedding_models import list_embedding_models
from parlour.infra import vector_indexes
from parlour.infra.migrator import allow_login, apply_migrations, list_migrations
from parlour.infra.postgres import connector
from parlour.infra.settings import MigrateSettings, load_settings


@functools.cache
def build_migrate() -> Callable[[], list[str]]:
    """Apply what is missing, let the app role sign in, index the vectors of every model that the deployment names.

    Returns the names of the migrations applied.
    """
    settings = load_settings(MigrateSettings)
    secrets = clients.make_secret_store()

    def run_migrations() -> list[str]:
        host, name = settings.database_host, settings.database_name
        owner = connector(connection_parameters(secrets.get(settings.owner_secret), host, name))
        app = connection_parameters(secrets.get(settings.database_secret), host, name)
        with owner(math.inf) as connection:
            applied = apply_migrations(connection, datetime.now(UTC), list_migrations())
            allow_login(connection, str(app["user"]), str(app["password"]))
            vector_indexes.build_vector_indexes(
                connection, {one.space: one.dimensions for one in list_embedding_models(settings)}
            )
        return applied

    return run_migrations
