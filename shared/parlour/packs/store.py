"""The rows of a tenant's configuration."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries
from parlour.packs.plan import Kind, Stored

SQL = Queries.beside(__file__)

_JSON_LISTS = frozenset({"guardrails", "sops"})
"""Fields that are lists in a jsonb column; other lists are arrays."""


def lock_tenant(tx: Transaction) -> None:
    """Wait for another apply of this tenant to end, and keep others waiting."""
    tx.value(SQL["lock_tenant"])


def configuration(tx: Transaction) -> dict[tuple[Kind, str], Stored]:
    """All of a tenant's configuration by kind and name."""
    return {(row.kind, row.name): row for row in tx.all(SQL["configuration"], Stored)}


def put(
    tx: Transaction, kind: Kind, parts: Sequence[Stored], ids: Mapping[tuple[Kind, str], UUID], now: datetime
) -> None:
    """Write parts of one kind. `ids` says which row a human, team or agent is, by its name."""
    columns = _binding_columns if kind == "binding" else _own_columns
    rows = [
        {"id": part.id, "name": part.name, "version": part.version, "now": now, **columns(part, ids)} for part in parts
    ]
    tx.run_many(SQL[f"put_{kind}"], rows)


def _own_columns(part: Stored, ids: Mapping[tuple[Kind, str], UUID]) -> dict[str, object]:  # noqa: ARG001
    return {name: jsonb(value) if name in _JSON_LISTS else value for name, value in part.config.items()}


def _binding_columns(part: Stored, ids: Mapping[tuple[Kind, str], UUID]) -> dict[str, object]:
    tiers: tuple[Kind, ...] = ("human", "team", "agent")
    own = {name: value for name, value in part.config.items() if name not in tiers}
    return {**own, **{f"{tier}_id": ids[tier, str(part.config[tier])] for tier in tiers}}
