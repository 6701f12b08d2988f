"""Reads the versions that were kept of a part of the configuration, for tests."""

from dataclasses import dataclass
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Query

_VERSIONS = Query(
    "test.versions",
    "-",
    "SELECT version, config, created_by FROM config_versions WHERE config_id = %(tier_id)s ORDER BY version DESC",
)


@dataclass(frozen=True, slots=True)
class ConfigVersion:
    """A version and what it said; `created_by` is the name of a principal."""

    version: int
    config: JsonObject
    created_by: str


def history(tx: Transaction, tier_id: UUID) -> list[ConfigVersion]:
    """Return the versions of one human, team, agent, binding or tenant, newest first."""
    return tx.all(_VERSIONS, ConfigVersion, tier_id=tier_id)
