"""What has to be looked at again by a certain time, should nothing else have seen to it.

A row is written with the work itself, in one transaction, and goes when the work is done; what is left lying is
found by the sweep. The hot paths do both inside their own statements; these functions are for everybody else.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.infra.errors import MalformedPayload
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.infra.queues import Delays

type Kind = Literal[
    "session", "outbox", "tool_call", "embedding", "file", "record_type", "ledgers", "pulse", "memory", "summary",
    "consolidation", "archive", "phone_link",
]  # fmt: skip

GRACE = timedelta(minutes=5)
"""How long work may take its usual way before the sweep looks after it."""

_KINDS: dict[str, Kind] = {
    "session": "session",
    "outbox": "outbox",
    "tool_call": "tool_call",
    "embedding": "embedding",
    "file": "file",
    "record_type": "record_type",
    "ledgers": "ledgers",
    "pulse": "pulse",
    "memory": "memory",
    "summary": "summary",
    "consolidation": "consolidation",
    "archive": "archive",
    "phone_link": "phone_link",
}

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Due:
    """One piece of work that is due: whose, what, and since when."""

    tenant_id: UUID
    kind: Kind
    id: UUID
    due_at: datetime

    def to_json(self) -> JsonObject:
        """As a wake-up's body."""
        return {
            "tenant_id": str(self.tenant_id),
            "kind": self.kind,
            "id": str(self.id),
            "due_at": self.due_at.isoformat(),
        }

    @classmethod
    def from_json(cls, body: JsonObject) -> "Due":
        """Back from a wake-up's body; MalformedPayload when it is something else."""
        try:
            kind = _KINDS[str(body["kind"])]
            due_at = datetime.fromisoformat(str(body["due_at"])).astimezone(UTC)
            return cls(UUID(str(body["tenant_id"])), kind, UUID(str(body["id"])), due_at)
        except (KeyError, ValueError):
            raise MalformedPayload('a wake-up is {"tenant_id", "kind", "id", "due_at"}') from None


def mark(tx: Transaction, kind: Kind, work_id: UUID, due_at: datetime) -> None:
    """Have the work looked at when `due_at` has come, and not before, whatever was said earlier."""
    tx.run(SQL["mark_due"], kind=kind, id=work_id, due_at=due_at)


def hold(tx: Transaction, kind: Kind, work_id: UUID, until: datetime, now: datetime) -> bool:
    """Be the only one at the work until `until`, which is one's own: no other worker gives the same. False when another
    is, or when the tenant is gone. Who dies at it has it looked at again then."""
    return tx.run(SQL["hold_due"], kind=kind, id=work_id, until=until, now=now) > 0


def let_go(tx: Transaction, kind: Kind, work_id: UUID, until: datetime, due_at: datetime) -> None:
    """Leave the work that was held `until` to whoever comes next, by `due_at` at the latest."""
    tx.run(SQL["let_go_due"], kind=kind, id=work_id, until=until, due_at=due_at)


def lock(tx: Transaction, kind: Kind, work_id: UUID, until: datetime) -> bool:
    """Whether the work is still one's own; if so nobody adds to it before the transaction ends. What was added before
    is seen by the next statement, and by none before it."""
    return tx.value(SQL["lock_due"], kind=kind, id=work_id, until=until) is not None


def held_until(tx: Transaction, kind: Kind, work_id: UUID) -> datetime | None:
    """Until when a worker is at the work; None when none is."""
    until: datetime | None = tx.value(SQL["held_due"], kind=kind, id=work_id)
    return until


def settle(tx: Transaction, kind: Kind, work_id: UUID) -> None:
    """The work is done; nobody has to look."""
    tx.run(SQL["settle_due"], kind=kind, id=work_id)


def put_off(tx: Transaction, due: Due, due_at: datetime) -> bool:
    """Have it looked at again when `due_at` has come; False when somebody else did so since it was read."""
    return tx.run(SQL["put_off_due"], kind=due.kind, id=due.id, was=due.due_at, due_at=due_at) > 0


def find(tx: Transaction, kind: Kind, work_id: UUID) -> Due | None:
    """When the tenant's own piece of work is due; None when nobody has to look."""
    return tx.first(SQL["when_due"], Due, kind=kind, id=work_id)


def wake_up(delays: Delays, due: Due, now: datetime) -> None:
    """Have it looked at by the minute, by a message that comes when it is due. The row has to be there besides."""
    delays.send(due.to_json(), (due.due_at - now).total_seconds())


def due(tx: Transaction, now: datetime, most: int) -> list[Due]:
    """What is due in any tenant, longest first; read in a transaction without a tenant. Pulses have a sweep of their
    own: every record with one has a row, most of which are due some time tomorrow."""
    return tx.all(SQL["due"], Due, now=now, most=most)
