"""Messages as lines of an archive: one JSON object each, in the order in which they came. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject, canonical_json

CONTENT_TYPE = "application/x-ndjson"


@dataclass(frozen=True, slots=True)
class ArchivedMessage:
    """A message as it is archived."""

    id: UUID
    position: int
    turn_id: UUID | None
    direction: str
    channel: str
    kind: str
    body: str
    sent_at: datetime
    received_at: datetime
    metadata: JsonObject

    def to_json(self) -> JsonObject:
        return {
            "id": str(self.id),
            "position": self.position,
            "turn_id": str(self.turn_id) if self.turn_id else None,
            "direction": self.direction,
            "channel": self.channel,
            "kind": self.kind,
            "body": self.body,
            "sent_at": self.sent_at.isoformat(),
            "received_at": self.received_at.isoformat(),
            "metadata": self.metadata,
        }


def to_json_lines(messages: Sequence[ArchivedMessage]) -> bytes:
    """Return the archive file: one JSON line per message."""
    return b"".join(canonical_json(one.to_json()).encode() + b"\n" for one in messages)


def object_key(tenant_id: UUID, session_id: UUID, archive_id: UUID) -> str:
    """Return the archive's key in the media bucket."""
    return f"tenant/{tenant_id}/archive/{session_id}/{archive_id}.jsonl"
