"""Due work: what has to be looked at by a certain time, and who has leased it.

A row is written in the transaction that creates the work and deleted when the work is done. The sweep finds the
rows that are overdue. The hot paths do both inside their own statements; these functions are for all other code.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, cast, get_args
from uuid import UUID

from parlour.infra.errors import MalformedPayload
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import DelayedQueue
from parlour.jobs.store import SQL

type WorkKind = Literal[
    "session",
    "outbox",
    "tool_call",
    "embedding",
    "file",
    "record_type",
    "prompt_retention",
    "event_retention",
    "visitor_retention",
    "pulse",
    "extraction",
    "summary",
    "consolidation",
    "archive",
    "phone_link",
    "inbox",
    "notification",
    "approval",
]

#: How long work may take its usual way before the sweep looks after it.
SWEEP_DELAY = timedelta(minutes=5)

#: How long after a session, reply or tool call was sent to its worker it is checked. Longer than a dead worker's
#: message is invisible: most work goes on by its own message.
CHECK_DELAY = timedelta(seconds=6)


@dataclass(frozen=True, slots=True)
class DueWork:
    """One piece of work with its tenant, its kind and the time at which it is due."""

    tenant_id: UUID
    kind: WorkKind
    id: UUID
    due_at: datetime

    def to_json(self) -> JsonObject:
        """Return a wake-up's body: `{"tenant_id", "kind", "id", "due_at"}`, the time in ISO 8601."""
        return {
            "tenant_id": str(self.tenant_id),
            "kind": self.kind,
            "id": str(self.id),
            "due_at": self.due_at.isoformat(),
        }

    @property
    def deduplication_id(self) -> str:
        """The id of a message that wakes this work: never that of the message that got lost."""
        return f"{self.id}:due:{self.due_at.isoformat()}"

    @classmethod
    def from_json(cls, body: JsonObject) -> "DueWork":
        """Read a wake-up's body. Raises MalformedPayload when it is something else."""
        try:
            due_at = datetime.fromisoformat(str(body["due_at"])).astimezone(UTC)
            tenant_id, kind, work_id = UUID(str(body["tenant_id"])), body["kind"], UUID(str(body["id"]))
        except (KeyError, ValueError):
            raise MalformedPayload('a wake-up is {"tenant_id", "kind", "id", "due_at"}') from None
        if kind not in get_args(WorkKind.__value__):
            raise MalformedPayload("a wake-up names a kind of work that does not exist")
        return cls(tenant_id, cast(WorkKind, kind), work_id, due_at)


@dataclass(frozen=True, slots=True)
class Attempts:
    """How many attempts in a row failed, and the code of the last error.

    An attempt counts as failed, by "died", from when it begins until its worker says how it ended.
    """

    failures: int = 0
    problem: str | None = None


def schedule(tx: Transaction, kind: WorkKind, work_id: UUID, due_at: datetime) -> None:
    """Make the work due at `due_at`; this replaces an earlier time."""
    tx.run(SQL["schedule_work"], kind=kind, id=work_id, due_at=due_at)


def lease(tx: Transaction, kind: WorkKind, work_id: UUID, leased_until: datetime, now: datetime) -> bool:
    """Lease the work until `leased_until`, which identifies the lease: no two workers choose the same instant.

    Return False while another worker has it, or when the tenant is gone. If the worker dies, the work is due again at
    `leased_until`.
    """
    return tx.run(SQL["lease_work"], kind=kind, id=work_id, until=leased_until, now=now) > 0


def lock_leased(tx: Transaction, kind: WorkKind, work_id: UUID, leased_until: datetime) -> Attempts | None:
    """Return the work's failed attempts if the lease still holds, and lock the row until the transaction ends.

    Transactions that add work wait for the lock. The next statement sees what they added before.
    """
    return tx.first(SQL["lock_work"], Attempts, kind=kind, id=work_id, until=leased_until)


def record_attempts(tx: Transaction, kind: WorkKind, work_id: UUID, attempts: Attempts) -> None:
    """Store how the attempts so far ended. The caller must have locked the work."""
    tx.run(SQL["record_attempts"], kind=kind, id=work_id, failures=attempts.failures, problem=attempts.problem)


def release(tx: Transaction, kind: WorkKind, work_id: UUID, leased_until: datetime, due_at: datetime) -> None:
    """End the lease and make the work due at `due_at`; without effect when the lease was lost."""
    tx.run(SQL["release_work"], kind=kind, id=work_id, until=leased_until, due_at=due_at)


def find_lease_end(tx: Transaction, kind: WorkKind, work_id: UUID) -> datetime | None:
    """Return the time until which a worker has the work; None when no worker has it."""
    until: datetime | None = tx.value(SQL["find_lease_end"], kind=kind, id=work_id)
    return until


def complete(tx: Transaction, kind: WorkKind, work_id: UUID) -> None:
    """Delete the row: the work is done."""
    tx.run(SQL["complete_work"], kind=kind, id=work_id)


def reschedule(tx: Transaction, work: DueWork, due_at: datetime) -> bool:
    """Make the work due at `due_at`; False when another transaction changed that time since it was read."""
    return tx.run(SQL["reschedule_work"], kind=work.kind, id=work.id, was=work.due_at, due_at=due_at) > 0


def find(tx: Transaction, kind: WorkKind, work_id: UUID) -> DueWork | None:
    """Return the tenant's piece of work; None when there is nothing to do."""
    return tx.first(SQL["find_work"], DueWork, kind=kind, id=work_id)


def list_overdue(tx: Transaction, now: datetime, limit: int) -> list[DueWork]:
    """Return what is due in any tenant, oldest first; for a transaction without a tenant.

    Pulses are left out. They have a sweep of their own: every record with one has a row, and most are due a day later.
    """
    return tx.all(SQL["list_overdue_work"], DueWork, now=now, limit=limit)


def send_wakeup(wakeup_queue: DelayedQueue, work: DueWork, now: datetime) -> None:
    """Send a message that arrives when the work is due, to the second. The work's row must exist as well."""
    wakeup_queue.send(work.to_json(), (work.due_at - now).total_seconds())
