"""Every version that a piece of a tenant's configuration ever had."""

from datetime import datetime
from uuid import UUID

from parlour.infra.errors import Conflict
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.records import Tier

__all__ = ["Tier", "record"]


def record(
    principal: Principal,
    tx: Transaction,
    tier: Tier,
    tier_id: UUID,
    version: int,
    config: JsonObject,
    now: datetime,
    new_id: NewId,
) -> None:
    """Keep `config` as that version, in the transaction that puts it in force.

    Raises Conflict when the version exists: somebody else changed the same thing at the same time.
    """
    written = store.record_version(
        tx,
        id=new_id(now),
        tier=tier,
        tier_id=tier_id,
        version=version,
        config=config,
        created_by=principal.name,
        now=now,
    )
    if not written:
        raise Conflict(f"{tier} {tier_id} has a version {version} already; read it again and repeat the change")
