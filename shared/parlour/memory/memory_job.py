"""The messages of the memory queue: a kind of memory job, its tenant and its target. Pure."""

from dataclasses import dataclass
from typing import Literal, get_args
from uuid import UUID

from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import JsonObject

type MemoryJobKind = Literal["extraction", "summary", "consolidation", "archive"]
"""extraction: look through a session's newest turns; summary: of its older ones; consolidation: of one that is silent;
archive: of a tenant's old messages. Each is a kind of due work too."""

MEMORY_JOB_KINDS: tuple[MemoryJobKind, ...] = get_args(MemoryJobKind.__value__)


@dataclass(frozen=True, slots=True)
class MemoryJob:
    """One piece of work. `target_id`: the session, or the tenant for an archive."""

    tenant_id: UUID
    kind: MemoryJobKind
    target_id: UUID

    def to_json(self) -> JsonObject:
        """As a queue's body."""
        return {"tenant_id": str(self.tenant_id), "kind": self.kind, "target_id": str(self.target_id)}

    @classmethod
    def from_json(cls, body: JsonObject) -> "MemoryJob":
        """Back from a queue's body; MalformedPayload when it is something else."""
        kind = next((one for one in MEMORY_JOB_KINDS if one == body.get("kind")), None)
        try:
            if kind is not None:
                return cls(UUID(str(body["tenant_id"])), kind, UUID(str(body["target_id"])))
        except (KeyError, ValueError):
            pass
        raise MalformedPayload('an order is {"tenant_id", "kind", "target_id"}')
