"""Rows whose vectors come later: whoever writes some says so, and the embedder is told once they are committed."""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queues import DelayedQueue
from parlour.jobs import work_due
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import DueWork
from parlour.search.index import store

WAKE_DELAY = timedelta(seconds=5)
"""What is written meanwhile is embedded along with it."""


def schedule_embedding(tx: Transaction, tenant_id: UUID, now: datetime) -> None:
    """Write down that the tenant has rows without a vector, so that the sweep finds them should the nudge be lost.

    Best done last in a transaction, since everybody who writes knowledge of this tenant waits until the commit.
    """
    work_due.schedule(tx, "embedding", tenant_id, now + work_due.SWEEP_DELAY)


def oldest_pending_since(tx: Transaction) -> datetime | None:
    """Since when the tenant's oldest row waits for its vector; None when none does."""
    return store.oldest_pending_since(tx)


def wake_embedder(embedder_queue: DelayedQueue, tenant_id: UUID) -> None:
    """Have the tenant's rows embedded soon. Call it once they are committed; raises QueueUnavailable."""
    body: JsonObject = {"tenant_id": str(tenant_id)}
    embedder_queue.send(body, WAKE_DELAY.total_seconds())


def finder(embedding: DelayedQueue) -> Finder:
    """Return the finder of a tenant's rows without a vector. The embedder itself completes the work, under its lock."""

    def find(tx: Transaction, work: DueWork, _now: datetime) -> StaleWork | None:
        leased_until = work_due.find_lease_end(tx, work.kind, work.id)
        return StaleWork(
            oldest_pending_since(tx) or work.due_at, lambda: wake_embedder(embedding, work.tenant_id), leased_until
        )

    return find


def record_type_finder(embedding: DelayedQueue) -> Finder:
    """Return the finder of types whose records are to be described anew: the embedder's work too, tenant by tenant."""
    return lambda _tx, work, _now: StaleWork(work.due_at, lambda: wake_embedder(embedding, work.tenant_id))
