"""A tenant's rows get their vectors: what was written and said a moment ago, in batches, by one worker at a time.

Whoever writes rows marks the tenant in the same transaction and sends a nudge that comes seconds later, so what is
written meanwhile is embedded along with it. The worker holds the tenant's mark, goes on until nothing is left, and
takes the mark away under its lock: a nudge that comes meanwhile has nothing to do, one that comes later finds new
rows. A worker that dies has its nudge delivered again, and behind that the sweep looks after the mark.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import (
    MalformedPayload,
    Misconfigured,
    ProviderRejected,
    ProviderUnavailable,
    SpendRefused,
)
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import DelayedQueue
from parlour.jobs import runner, work_due
from parlour.jobs.runner import JobFailed, LeasedJob
from parlour.principal import Principal, system_principal
from parlour.search.index import embedding_budget, reembedding, store
from parlour.search.index.embedding_spaces import EmbeddingSpaces
from parlour.search.index.message_rows import message_row
from parlour.search.index.store import PendingWork, RowText

BATCH_ROWS = 64
"""Rows in one request to a model and in one commit; some 15,000 tokens."""

_BATCH_MESSAGES = 200
"""Messages that get their rows in one commit."""

_SECONDS_KEPT = 80.0
"""With less time than a batch may take at a slow model none is begun."""

_RETRY_OVER_CAP = timedelta(hours=1)
"""When a tenant that is over its cap is looked at again, should nobody nudge before."""

type BackfillFunction = Callable[[Database, UUID, UUID, datetime, SecondsLeft], bool]
"""(database, tenant, type, now, seconds_left): describe a type's records anew; it is due until all are."""


@dataclass(frozen=True, slots=True)
class EmbeddingDependencies:
    """What embedding runs with. `embedding`: the worker's own queue, for what does not fit into its time."""

    database: Database
    spaces: EmbeddingSpaces
    embedder_queue: DelayedQueue
    backfill: BackfillFunction
    default_cap: Decimal
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class EmbeddingJob(LeasedJob[PendingWork, datetime | None, bool]):
    """The job of one tenant's rows. `until` identifies its lease.

    A round is one batch of the most urgent work. Each batch commits its own transactions: done twice it is done once.
    """

    dependencies: EmbeddingDependencies
    principal: Principal
    leased_until: datetime
    seconds_left: SecondsLeft

    def begin(self, tx: Transaction) -> bool:
        """Lease the tenant's rows. The worker that has them looks again before it ends."""
        return work_due.lease(tx, "embedding", self.principal.tenant_id, self.leased_until, self.dependencies.clock())

    def load(self, tx: Transaction) -> PendingWork | None:
        """Read what is waiting, under the lock that those who add rows wait for; complete the work when nothing is."""
        tenant_id = self.principal.tenant_id
        if not work_due.lock_leased(tx, "embedding", tenant_id, self.leased_until):
            return None
        waiting = store.read_pending_work(tx)
        if waiting is None:
            work_due.complete(tx, "embedding", tenant_id)
        return waiting

    def ask(self, waiting: PendingWork, _seconds_left: SecondsLeft) -> datetime | None:
        """Do one batch; return when to go on if all that waits has its time yet to come."""
        later = reembedding.old_vectors_deletable_at(waiting)
        if later is not None and later > self.dependencies.clock():
            return later
        try:
            if waiting.has_messages:
                _index_messages(self)
            elif waiting.has_rows:
                _embed_rows(self)
            elif waiting.has_types:
                services, tenant_id = self.dependencies, self.principal.tenant_id
                for type_id in services.database.run(self.principal, store.find_types_to_backfill):
                    services.backfill(services.database, tenant_id, type_id, services.clock(), self.seconds_left)
            elif waiting.is_reembedding or waiting.old_vectors_since is not None:
                services = self.dependencies
                move = reembedding.ReembeddingRun(
                    services.database, self.principal, services.spaces, _budget(self), BATCH_ROWS
                )
                reembedding.run_batch(move)
        except SpendRefused as problem:
            raise JobFailed(problem.code) from problem
        return None

    def commit(self, tx: Transaction, _waiting: PendingWork, later: datetime | None) -> bool:
        """Release the work when the rest has its time yet to come."""
        if later is not None:
            self._release(tx, later + work_due.SWEEP_DELAY)
        return True

    def report(self, _waiting: PendingWork, later: datetime | None, _result: bool) -> bool:
        """Have a message come for what has its time yet to come."""
        if later is not None:
            self._send((later - self.dependencies.clock()).total_seconds())
        return later is None

    def fail(self, tx: Transaction, code: str) -> int:
        """Reschedule; a tenant over its cap is no error: its rows wait, and words find them."""
        wait = _RETRY_OVER_CAP if code == SpendRefused.code else work_due.SWEEP_DELAY
        self._release(tx, self.dependencies.clock() + wait)
        return 0

    def release(self, tx: Transaction) -> None:
        """End the lease; the sweep looks for the work after `SWEEP_DELAY`."""
        self._release(tx, self.dependencies.clock() + work_due.SWEEP_DELAY)

    def resend(self) -> None:
        """Send the nudge again, at once."""
        self._send(0)

    def _release(self, tx: Transaction, due_at: datetime) -> None:
        work_due.release(tx, "embedding", self.principal.tenant_id, self.leased_until, due_at)

    def _send(self, seconds: float) -> None:
        self.dependencies.embedder_queue.send({"tenant_id": str(self.principal.tenant_id)}, seconds)


def parse_message(body: JsonObject) -> UUID:
    """Return the tenant that a wake-up is about; MalformedPayload when it names none."""
    try:
        return UUID(str(body["tenant_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload("this is not a nudge of the embedder") from None


def embed_tenant(services: EmbeddingDependencies, tenant_id: UUID, seconds_left: SecondsLeft) -> None:
    """Embed what the tenant has without a vector, as far as the time allows; the rest follows by itself.

    Raises ProviderUnavailable, ProviderRejected or Misconfigured when the model gives nothing, for the queue to try
    again; a cap that leaves no room is no error: the rows wait, and words find them.
    """
    until = services.clock() + timedelta(seconds=seconds_left())
    job = EmbeddingJob(services, system_principal(tenant_id), until, seconds_left)
    runner.run(job, services.database, job.principal, seconds_left, _SECONDS_KEPT)


def _index_messages(work: EmbeddingJob) -> None:
    """Messages become rows, which are embedded with all others."""
    now = work.dependencies.clock()
    ids = [uuid7(now) for _ in range(_BATCH_MESSAGES)]

    def index(tx: Transaction) -> None:
        said = store.find_unindexed_messages(tx, _BATCH_MESSAGES)
        rows = [(row_id, one, draft) for row_id, one in zip(ids, said, strict=False) if (draft := message_row(one))]
        store.add_message_rows(tx, rows)
        store.mark_indexed(tx, [one.id for one in said])

    work.dependencies.database.run(work.principal, index)


def _embed_rows(work: EmbeddingJob) -> None:
    """Embed the oldest rows without a vector; a text that no model accepts is found by words only."""

    def read(tx: Transaction) -> tuple[str | None, list[RowText]]:
        return store.tenant_space(tx), store.find_pending_rows(tx, BATCH_ROWS)

    name, rows = work.dependencies.database.run(work.principal, read)
    bought = _embed_batch(work, name, rows)

    def keep(tx: Transaction) -> None:
        store.store_vectors(tx, bought.space, bought.vectors)
        store.give_up_rows(tx, bought.rejected_ids)
        embedding_budget.settle_batch(tx, _budget(work), bought)

    work.dependencies.database.run(work.principal, keep)
    if bought.rejected_ids:
        log.warning("texts_rejected_by_model", tenant_id=work.principal.tenant_id, rows=len(bought.rejected_ids))


def _embed_batch(work: EmbeddingJob, name: str | None, rows: list[RowText]) -> embedding_budget.EmbeddedBatch:
    """Return the rows' vectors in the tenant's space, or in the space that the tenant is moving to.

    The second is tried when the first gives none: the old model may be gone, and rows without vectors would block the
    move forever.
    """
    spaces = work.dependencies.spaces
    try:
        return embedding_budget.embed_within_cap(_budget(work), spaces.priced_embedder(name), rows)
    except (Misconfigured, ProviderRejected, ProviderUnavailable):
        moving = work.dependencies.database.run(work.principal, store.find_reembedding)
        if moving is None or moving.finished_at is not None:
            raise
        return embedding_budget.embed_within_cap(_budget(work), spaces.priced_embedder(moving.space), rows)


def _budget(work: EmbeddingJob) -> embedding_budget.EmbeddingBudget:
    services = work.dependencies
    return embedding_budget.EmbeddingBudget(
        services.database, work.principal, services.default_cap, work.leased_until, services.clock
    )


__all__ = [
    "BATCH_ROWS",
    "BackfillFunction",
    "EmbeddingDependencies",
    "embed_tenant",
    "parse_message",
]
