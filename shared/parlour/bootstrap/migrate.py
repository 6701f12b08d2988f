"""The owner's function: brings the schema to this release."""

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from parlour.bootstrap import clients
from parlour.bootstrap.database import connection_parameters
from parlour.bootstrap.embedding_models import list_embedding_models
from parlour.infra import custom_resource, vector_indexes
from parlour.infra.connection import Connection, SecondsLeft
from parlour.infra.migrator import allow_login, apply_migrations, list_migrations
from parlour.infra.postgres import connector
from parlour.infra.secrets import SecretStore
from parlour.infra.settings import MigrateSettings, load_settings

#: A database that paused for a day takes 30 seconds to resume.
_CONNECT_SECONDS = 60

#: What is kept of an invocation's time to say that the rest was not enough.
_SECONDS_TO_ANSWER = 30


@dataclass(frozen=True, slots=True)
class SchemaOwner:
    """The role that owns the schema, as a deployment uses it."""

    settings: MigrateSettings
    secrets: SecretStore

    def migrate(self, seconds_left: SecondsLeft) -> list[str]:
        """Apply what is missing and let the app role sign in; returns the names of the migrations applied."""
        settings = self.settings
        app = connection_parameters(
            self.secrets.get(settings.database_secret), settings.database_host, settings.database_name
        )
        with self._connect() as connection:
            milliseconds = int((seconds_left() - _SECONDS_TO_ANSWER) * 1000)
            connection.execute("SELECT set_config('statement_timeout', %s, false)", (str(milliseconds),))
            applied = apply_migrations(connection, datetime.now(UTC), list_migrations())
            allow_login(connection, str(app["user"]), str(app["password"]))
        return applied

    def build_indexes(self) -> list[str]:
        """Index the vectors of every model that the deployment names; returns the spaces that got an index."""
        spaces = {model.space: model.dimensions for model in list_embedding_models(self.settings)}
        with self._connect() as connection:
            return vector_indexes.build_vector_indexes(connection, spaces)

    def _connect(self) -> Connection:
        settings = self.settings
        owner = connection_parameters(
            self.secrets.get(settings.owner_secret), settings.database_host, settings.database_name
        )
        return connector({**owner, "connect_timeout": _CONNECT_SECONDS})(math.inf)


@functools.cache
def build_schema_owner() -> SchemaOwner:
    """Return the schema's owner as the function's settings name it."""
    return SchemaOwner(load_settings(MigrateSettings), clients.make_secret_store())


def answer_cloudformation(request: Mapping[str, Any], seconds_left: SecondsLeft) -> None:
    """Migrate for the stack's resource `Schema`, from whose attribute DatabaseName the other functions have theirs."""

    def migrate() -> dict[str, str]:
        owner = build_schema_owner()
        owner.migrate(seconds_left)
        return {"DatabaseName": owner.settings.database_name}

    custom_resource.answer_request(request, migrate)
