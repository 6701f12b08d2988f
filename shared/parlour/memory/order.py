"""What the memory queue carries: which work of memory is to be done, and for whom. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import JsonObject

type Kind = Literal["memory", "summary", "consolidation", "archive"]
"""memory: look through a session's newest turns; summary: of its older ones; consolidation: of one that is silent;
archive: of a tenant's old messages. Each is a kind of due work too."""

KINDS: tuple[Kind, ...] = get_args(Kind.__value__)


@dataclass(frozen=True, slots=True)
class Order:
    """One piece of work. `id`: the session, or the tenant for an archive."""

    tenant_id: UUID
    kind: Kind
    id: UUID

    def to_json(self) -> JsonObject:
        """As a queue's body."""
        return {"tenant_id": str(self.tenant_id), "kind": self.kind, "id": str(self.id)}

    @classmethod
    def from_json(cls, body: JsonObject) -> "Order":
        """Back from a queue's body; MalformedPayload when it is something else."""
        kind = next((one for one in KINDS if one == body.get("kind")), None)
        try:
            if kind is not None:
                return cls(UUID(str(body["tenant_id"])), kind, UUID(str(body["id"])))
        except (KeyError, ValueError):
            pass
        raise MalformedPayload('an order is {"tenant_id", "kind", "id"}')
