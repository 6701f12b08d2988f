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
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import Delays
from parlour.jobs import runner, work_due
from parlour.jobs.runner import Job, JobFailed
from parlour.knowledge.index import paid, reembed, store
from parlour.knowledge.index.said import Said, message_row
from parlour.knowledge.index.spaces import Spaces
from parlour.knowledge.index.store import Text, Waiting
from parlour.principal import Principal, system

BATCH = 64
"""Rows in one request to a model and in one commit; some 15,000 tokens."""

_MESSAGES = 200
"""Messages that get their rows in one commit."""

_SECONDS_KEPT = 80.0
"""With less time than a batch may take at a slow model none is begun."""

_NEXT_TRY = timedelta(hours=1)
"""When a tenant that is over its cap is looked at again, should nobody nudge before."""

type Backfill = Callable[[Database, UUID, UUID, datetime, NewId, SecondsLeft], bool]
"""(database, tenant, type, now, new_id, seconds_left): describe a type's records anew; it is due until all are."""


@dataclass(frozen=True, slots=True)
class Services:
    """What embedding runs with. `embedding`: the worker's own queue, for what does not fit into its time."""

    database: Database
    spaces: Spaces
    embedding: Delays
    backfill: Backfill
    default_cap: Decimal
    clock: Callable[[], datetime]
    new_id: NewId


@dataclass(frozen=True, slots=True)
class EmbeddingJob(Job[Waiting, datetime | None, bool]):
    """The job of one tenant's rows. `until` identifies its lease.

    A round is one batch of the most urgent work. Each batch commits its own transactions: done twice it is done once.
    """

    services: Services
    principal: Principal
    until: datetime
    seconds_left: SecondsLeft

    def begin(self, tx: Transaction) -> bool:
        """Lease the tenant's rows. The worker that has them looks again before it ends."""
        return work_due.lease(tx, "embedding", self.principal.tenant_id, self.until, self.services.clock())

    def load(self, tx: Transaction) -> Waiting | None:
        """Read what is waiting, under the lock that those who add rows wait for; complete the work when nothing is."""
        tenant_id = self.principal.tenant_id
        if not work_due.lock(tx, "embedding", tenant_id, self.until):
            return None
        waiting = store.waiting(tx)
        if waiting is None:
            work_due.complete(tx, "embedding", tenant_id)
        return waiting

    def ask(self, waiting: Waiting, _seconds_left: SecondsLeft) -> datetime | None:
        """Do one batch; return when to go on if all that waits has its time yet to come."""
        later = reembed.clears_at(waiting)
        if later is not None and later > self.services.clock():
            return later
        try:
            _step(self, waiting)
        except SpendRefused as problem:
            raise JobFailed(problem.code) from problem
        return None

    def commit(self, tx: Transaction, _waiting: Waiting, later: datetime | None) -> bool:
        """Release the work when the rest has its time yet to come."""
        if later is not None:
            self._release(tx, later + work_due.GRACE)
        return True

    def report(self, _waiting: Waiting, later: datetime | None, _result: bool) -> bool:
        """Have a message come for what has its time yet to come."""
        if later is not None:
            self._send((later - self.services.clock()).total_seconds())
        return later is None

    def fail(self, tx: Transaction, code: str) -> int:
        """Reschedule; a tenant over its cap is no error: its rows wait, and words find them."""
        wait = _NEXT_TRY if code == SpendRefused.code else work_due.GRACE
        self._release(tx, self.services.clock() + wait)
        return 0

    def release(self, tx: Transaction) -> None:
        """End the lease; the sweep looks for the work after `GRACE`."""
        self._release(tx, self.services.clock() + work_due.GRACE)

    def resend(self) -> None:
        """Send the nudge again, at once."""
        self._send(0)

    def _release(self, tx: Transaction, due_at: datetime) -> None:
        work_due.release(tx, "embedding", self.principal.tenant_id, self.until, due_at)

    def _send(self, seconds: float) -> None:
        self.services.embedding.send({"tenant_id": str(self.principal.tenant_id)}, seconds)


def read_message(body: JsonObject) -> UUID:
    """The tenant that a nudge is about; MalformedPayload when it names none."""
    try:
        return UUID(str(body["tenant_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload("this is not a nudge of the embedder") from None


def run(services: Services, tenant_id: UUID, seconds_left: SecondsLeft) -> None:
    """Embed what the tenant has without a vector, as far as the time allows; the rest follows by itself.

    Raises ProviderUnavailable, ProviderRejected or Misconfigured when the model gives nothing, for the queue to try
    again; a cap that leaves no room is no error: the rows wait, and words find them.
    """
    until = services.clock() + timedelta(seconds=seconds_left())
    job = EmbeddingJob(services, system(tenant_id), until, seconds_left)
    runner.run(job, services.database, job.principal, seconds_left, _SECONDS_KEPT)


def _step(work: EmbeddingJob, waiting: Waiting) -> None:
    """One batch of the most urgent."""
    if waiting.messages:
        _index_messages(work)
    elif waiting.rows:
        _embed_rows(work)
    elif waiting.types:
        _describe(work)
    elif waiting.moving or waiting.left_at is not None:
        reembed.step(_move(work))


def _index_messages(work: EmbeddingJob) -> None:
    """Messages become rows, which are embedded with all others."""
    now = work.services.clock()
    ids = [work.services.new_id(now) for _ in range(_MESSAGES)]

    def index(tx: Transaction) -> None:
        said = store.unindexed(tx, _MESSAGES)
        rows = [(row_id, one, draft) for row_id, one in zip(ids, said, strict=False) if (draft := message_row(one))]
        store.add_message_rows(tx, rows)
        store.note_indexed(tx, [one.id for one in said])

    work.services.database.run(work.principal, index)


def _embed_rows(work: EmbeddingJob) -> None:
    """The oldest rows without a vector; a text that no model takes is left to words."""

    def read(tx: Transaction) -> tuple[str | None, list[Text]]:
        return store.tenant_space(tx), store.pending_rows(tx, BATCH)

    name, rows = work.services.database.run(work.principal, read)
    bought = _bought(work, name, rows)

    def keep(tx: Transaction) -> None:
        store.keep_vectors(tx, bought.space, bought.vectors)
        store.leave_rows(tx, bought.refused)
        paid.settle(tx, _purse(work), bought)

    work.services.database.run(work.principal, keep)
    if bought.refused:
        log.warning("texts_not_embedded", tenant_id=work.principal.tenant_id, rows=len(bought.refused))


def _bought(work: EmbeddingJob, name: str | None, rows: list[Text]) -> paid.Bought:
    """The rows' vectors in the tenant's space; when that gives none and the tenant is on its way to another, in that
    one: why it leaves may be that its model is gone, and what waits would hold up the move for ever."""
    spaces = work.services.spaces
    try:
        return paid.embed(_purse(work), spaces.offer(name), rows)
    except (Misconfigured, ProviderRejected, ProviderUnavailable):
        moving = work.services.database.run(work.principal, store.moving)
        if moving is None or moving.finished_at is not None:
            raise
        return paid.embed(_purse(work), spaces.offer(moving.space), rows)


def _describe(work: EmbeddingJob) -> None:
    """Records whose type is described in other words now get their rows anew."""
    services, tenant_id = work.services, work.principal.tenant_id
    for type_id in services.database.run(work.principal, store.types_due):
        services.backfill(
            services.database, tenant_id, type_id, services.clock(), services.new_id, work.seconds_left
        )  # fmt: skip


def _purse(work: EmbeddingJob) -> paid.Purse:
    services = work.services
    return paid.Purse(
        services.database, work.principal, services.default_cap, work.until, services.clock, services.new_id
    )


def _move(work: EmbeddingJob) -> reembed.Move:
    return reembed.Move(work.services.database, work.principal, work.services.spaces, _purse(work), BATCH)


__all__ = ["BATCH", "Backfill", "Said", "Services", "read_message", "run"]
