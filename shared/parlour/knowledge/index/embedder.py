"""A tenant's rows get their vectors: what was written and said a moment ago, in batches, by one worker at a time.

Whoever writes rows marks the tenant in the same transaction and sends a nudge that comes seconds later, so what is
written meanwhile is embedded along with it. The worker holds the tenant's mark, goes on until nothing is left, and
takes the mark away under its lock: a nudge that comes meanwhile has nothing to do, one that comes later finds new
rows. A worker that dies has its nudge delivered again, and behind that the sweep looks after the mark.
"""

from collections.abc import Callable
from contextlib import suppress
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
    RetryError,
    SpendRefused,
)
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import Delays
from parlour.jobs import work_due
from parlour.knowledge.index import paid, reembed, signs, store
from parlour.knowledge.index.said import Said, message_row
from parlour.knowledge.index.spaces import Spaces
from parlour.knowledge.index.store import Text, Waiting
from parlour.principal import Principal, system

BATCH = 64
"""Rows in one request to a model and in one commit; some 15,000 tokens."""

_MESSAGES = 200
"""Messages that get their rows in one commit."""

_SECONDS_KEPT = 80.0
"""With less time than a batch may take at a slow model nothing is begun."""

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
class Work:
    """One tenant's turn at the embedder. `until`: what its mark is held by."""

    services: Services
    principal: Principal
    until: datetime
    seconds_left: SecondsLeft


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
    now = services.clock()
    work = Work(services, system(tenant_id), now + timedelta(seconds=seconds_left()), seconds_left)
    if not services.database.run(
        tenant_id, lambda tx: work_due.lease(tx, "embedding", tenant_id, work.until, now)
    ):  # fmt: skip
        return  # the worker who is at it looks again before it ends
    try:
        is_done = _go_on(work)
    except SpendRefused:
        _let_go(work, _NEXT_TRY)
    except BaseException:
        with suppress(RetryError):
            _let_go(work, work_due.GRACE)
        raise
    else:
        if not is_done:
            _let_go(work, work_due.GRACE)
            services.embedding.send({"tenant_id": str(tenant_id)}, 0)


def _go_on(work: Work) -> bool:
    """Batch after batch, what was said first; whether nothing is left."""
    while work.seconds_left() >= _SECONDS_KEPT:
        waiting = work.services.database.run(work.principal, store.waiting)
        if waiting is None or not _step(work, waiting):
            ended = _end(work)
            if ended is not None:
                return ended
    return False


def _step(work: Work, waiting: Waiting) -> bool:
    """One batch of the most urgent; False when all that waits has its time yet to come."""
    if waiting.messages:
        _index_messages(work)
    elif waiting.rows:
        _embed_rows(work)
    elif waiting.types:
        _describe(work)
    elif waiting.signs:
        signs.fill(work.services.database, work.principal, work.services.spaces)
    elif waiting.moving or waiting.left_at is not None:
        return reembed.step(_move(work), waiting)
    return True


def _end(work: Work) -> bool | None:
    """Take the mark away, or leave it for what has its time yet to come; None when more has come in meanwhile."""
    tenant_id = work.principal.tenant_id

    def end(tx: Transaction) -> tuple[bool, datetime | None]:
        if not work_due.lock(tx, "embedding", tenant_id, work.until):
            return True, None  # somebody else's by now
        waiting = store.waiting(tx)
        if waiting is None:
            work_due.complete(tx, "embedding", tenant_id)
            return True, None
        later = reembed.clears_at(waiting)
        if later is None or later <= work.services.clock():
            return False, None
        work_due.release(tx, "embedding", tenant_id, work.until, later + work_due.GRACE)
        return True, later

    is_over, later = work.services.database.run(work.principal, end)
    if later is not None:
        seconds = (later - work.services.clock()).total_seconds()
        work.services.embedding.send({"tenant_id": str(tenant_id)}, seconds)
    return True if is_over else None


def _let_go(work: Work, wait: timedelta) -> None:
    tenant_id, due_at = work.principal.tenant_id, work.services.clock() + wait
    work.services.database.run(
        work.principal, lambda tx: work_due.release(tx, "embedding", tenant_id, work.until, due_at)
    )


def _index_messages(work: Work) -> None:
    """Messages become rows, which are embedded with all others."""
    now = work.services.clock()
    ids = [work.services.new_id(now) for _ in range(_MESSAGES)]

    def index(tx: Transaction) -> None:
        said = store.unindexed(tx, _MESSAGES)
        rows = [(row_id, one, draft) for row_id, one in zip(ids, said, strict=False) if (draft := message_row(one))]
        store.add_message_rows(tx, rows)
        store.note_indexed(tx, [one.id for one in said])

    work.services.database.run(work.principal, index)


def _embed_rows(work: Work) -> None:
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


def _bought(work: Work, name: str | None, rows: list[Text]) -> paid.Bought:
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


def _describe(work: Work) -> None:
    """Records whose type is described in other words now get their rows anew."""
    services, tenant_id = work.services, work.principal.tenant_id
    for type_id in services.database.run(work.principal, store.types_due):
        services.backfill(
            services.database, tenant_id, type_id, services.clock(), services.new_id, work.seconds_left
        )  # fmt: skip


def _purse(work: Work) -> paid.Purse:
    services = work.services
    return paid.Purse(
        services.database, work.principal, services.default_cap, work.until, services.clock, services.new_id
    )


def _move(work: Work) -> reembed.Move:
    return reembed.Move(work.services.database, work.principal, work.services.spaces, _purse(work), BATCH)


__all__ = ["BATCH", "Backfill", "Said", "Services", "read_message", "run"]
