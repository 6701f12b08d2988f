"""Moving a tenant to another embedding model while everybody goes on searching.

The tenant's searches look into the old space until every row has its vector in the new one as well; then one update
turns them to the new one, and the old vectors go, some minutes later: a worker may take the space for the old one for
half a minute, and what it wrote there is moved before. What breaks off goes on where it was.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from parlour.infra import log
from parlour.infra.errors import Conflict
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.search.index import embedding_budget, scheduling, store
from parlour.search.index.embedding_budget import EmbeddingBudget
from parlour.search.index.embedding_spaces import EmbeddingSpaces
from parlour.search.index.store import PendingWork, Reembedding, RowText
from parlour.tenancy import audit
from parlour.tenancy.roles import require_role

OLD_VECTORS_KEPT = timedelta(minutes=2)
"""How long the old vectors are kept once nobody is sent to them any more."""

_DELETE_BATCH = 500
"""Old vectors that go in one commit."""


@dataclass(frozen=True, slots=True)
class ReembeddingRun:
    """What a tenant is moved with; `batch`: rows in one request and one commit."""

    database: Database
    principal: Principal
    spaces: EmbeddingSpaces
    budget: EmbeddingBudget
    batch_rows: int


def start_reembedding(
    principal: Principal, tx: Transaction, spaces: EmbeddingSpaces, model: str, now: datetime
) -> Reembedding:
    """Begin to move the tenant to `model`, a model's name or its space; asked again, it is the same move.

    Moving to where the tenant is mends what has no vector there. Whoever calls this nudges the embedder once it is
    committed (`pending.nudge`). NotFound for a model that the deployment does not name; Conflict while the tenant is
    on its way to another. Needs admin.
    """
    require_role(principal, "admin")
    name = spaces.find_space(model)
    store.lock_tenant(tx)
    under_way = store.find_reembedding(tx)
    if under_way is None or under_way.finished_at is not None:
        store.start_reembedding(tx, name, now)
        target = f"tenant:{principal.tenant_id}"
        audit.add_entry(principal, tx, "tenant.reembedding", target, {"space": name}, now)
    elif under_way.space != name:
        raise Conflict(f"re-embedding to {under_way.space} is running; wait until it is finished")
    scheduling.schedule_embedding(tx, principal.tenant_id, now)
    return store.get_reembedding(tx)


def read_progress(principal: Principal, tx: Transaction) -> Reembedding | None:
    """How far the tenant's last move is; None when it was never moved. Needs viewer."""
    require_role(principal, "viewer")
    return store.find_reembedding(tx)


def old_vectors_deletable_at(waiting: PendingWork) -> datetime | None:
    """When the old vectors may go, when that is all that is left to do; None when there is more, or nothing."""
    if (
        waiting.has_messages
        or waiting.has_rows
        or waiting.has_types
        or waiting.is_reembedding
        or waiting.old_vectors_since is None
    ):
        return None
    return waiting.old_vectors_since + OLD_VECTORS_KEPT


def run_batch(move: ReembeddingRun) -> None:
    """One batch: rows moved, the searches turned, or old vectors cleared."""
    moving, rows = move.database.run(move.principal, lambda tx: _next_rows(tx, move.batch_rows))
    if rows:
        _embed(move, moving, rows)
    elif moving.finished_at is None:
        _switch_searches(move, moving)
    else:
        _delete_old_vectors(move, moving)


def _next_rows(tx: Transaction, most: int) -> tuple[Reembedding, list[RowText]]:
    """Return the rows after those that were moved last; at the end, those that were written behind."""
    moving = store.get_reembedding(tx)
    rows = store.find_rows_to_reembed(tx, moving.space, moving.cursor, most)
    if not rows and moving.cursor is not None:
        rows = store.find_rows_to_reembed(tx, moving.space, None, most)
    return moving, rows


def _embed(move: ReembeddingRun, moving: Reembedding, rows: list[RowText]) -> None:
    """Embed rows with the new model; a text that it refuses loses its old vector and is found by words."""
    bought = embedding_budget.embed_within_cap(move.budget, move.spaces.priced_embedder(moving.space), rows)

    def keep(tx: Transaction) -> None:
        store.add_reembedded_vectors(tx, bought.space, bought.vectors)
        store.delete_vectors(tx, bought.rejected_ids)
        store.save_progress(tx, cursor=rows[-1].id, before=moving.done, done=moving.done + len(rows))
        embedding_budget.settle_batch(tx, move.budget, bought)

    move.database.run(move.principal, keep)


def _switch_searches(move: ReembeddingRun, moving: Reembedding) -> None:
    """From now on searches look into the new space, unless a row came in that is not there."""
    now = move.budget.clock()

    def turn(tx: Transaction) -> bool:
        store.lock_tenant(tx)
        if store.find_rows_to_reembed(tx, moving.space, None, 1):
            return False
        store.switch_searches(tx, moving.space, now)
        return True

    if move.database.run(move.principal, turn):
        log.info("tenant_reembedded", tenant_id=move.principal.tenant_id, rows=moving.done)


def _delete_old_vectors(move: ReembeddingRun, moving: Reembedding) -> None:
    now = move.budget.clock()

    def clear(tx: Transaction) -> None:
        if store.delete_old_vectors(tx, moving.space, _DELETE_BATCH) < _DELETE_BATCH:
            store.mark_old_vectors_deleted(tx, now)

    move.database.run(move.principal, clear)
