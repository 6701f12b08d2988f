"""The rows of a tenant's configuration."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.packs.plan import ConfigItem, ConfigKind

SQL = Queries.for_module(__file__)

_JSONB_LISTS = frozenset({"guardrails", "sops"})
"""Fields that are lists in a jsonb column; other lists are arrays."""


def lock_tenant(tx: Transaction) -> None:
    """Wait for another apply of this tenant to end, and keep others waiting."""
    tx.value(SQL["lock_tenant"])


def read_configuration(tx: Transaction) -> dict[tuple[ConfigKind, str], ConfigItem]:
    """All of a tenant's configuration by kind and name."""
    return {(row.kind, row.name): row for row in tx.all(SQL["read_configuration"], ConfigItem)}


def upsert_items(
    tx: Transaction,
    kind: ConfigKind,
    parts: Sequence[ConfigItem],
    ids: Mapping[tuple[ConfigKind, str], UUID],
    now: datetime,
) -> None:
    """Write parts of one kind. `ids` says which row a human, team or agent is, by its name."""
    columns = _binding_columns if kind == "binding" else _item_columns
    rows = [
        {"id": part.id, "name": part.name, "version": part.version, "now": now, **columns(part, ids)} for part in parts
    ]
    tx.run_many(SQL[f"upsert_{kind}"], rows)


def _item_columns(part: ConfigItem, ids: Mapping[tuple[ConfigKind, str], UUID]) -> dict[str, object]:  # noqa: ARG001
    return {name: jsonb(value) if name in _JSONB_LISTS else value for name, value in part.config.items()}


def _binding_columns(part: ConfigItem, ids: Mapping[tuple[ConfigKind, str], UUID]) -> dict[str, object]:
    tiers: tuple[ConfigKind, ...] = ("human", "team", "agent")
    own = {name: value for name, value in part.config.items() if name not in tiers}
    return {**own, **{f"{tier}_id": ids[tier, str(part.config[tier])] for tier in tiers}}
