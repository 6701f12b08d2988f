"""Every version that a piece of a tenant's configuration ever had."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import Conflict
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.rows import ConfigKind

__all__ = ["ConfigKind", "record_version"]


def record_version(
    principal: Principal,
    tx: Transaction,
    kind: ConfigKind,
    config_id: UUID,
    version: int,
    config: JsonObject,
    now: datetime,
) -> None:
    """Keep `config` as that version, in the transaction that puts it in force.

    Raises Conflict when the version exists: somebody else changed the same thing at the same time.
    """
    written = store.add_config_version(
        tx,
        id=uuid7(now),
        tier=kind,
        tier_id=config_id,
        version=version,
        config=config,
        created_by=principal.name,
        now=now,
    )
    if not written:
        raise Conflict(f"{kind} {config_id} already has version {version}; read it again and repeat the change")
