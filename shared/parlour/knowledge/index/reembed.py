"""Moving a tenant to another embedding model while everybody goes on searching.

The tenant's searches look into the old space until every row has its vector in the new one as well; then one update
turns them to the new one, and the old vectors go, some minutes later: a worker may take the space for the old one for
half a minute, and what it wrote there is moved before. What breaks off goes on where it was.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from parlour.infra import log
from parlour.infra.errors import Conflict
from parlour.infra.ids import NewId
from parlour.infra.postgres import Database, Transaction
from parlour.knowledge.index import paid, pending, store
from parlour.knowledge.index.paid import Purse
from parlour.knowledge.index.spaces import Spaces
from parlour.knowledge.index.store import Moving, Text, Waiting
from parlour.principal import Principal
from parlour.tenancy import audit
from parlour.tenancy.roles import require

KEPT = timedelta(minutes=2)
"""How long the old vectors are kept once nobody is sent to them any more."""

_CLEARED = 500
"""Old vectors that go in one commit."""


@dataclass(frozen=True, slots=True)
class Move:
    """What a tenant is moved with; `batch`: rows in one request and one commit."""

    database: Database
    principal: Principal
    spaces: Spaces
    purse: Purse
    batch: int


def start(
    principal: Principal, tx: Transaction, spaces: Spaces, model: str, now: datetime, new_id: NewId
) -> Moving:  # fmt: skip
    """Begin to move the tenant to `model`, a model's name or its space; asked again, it is the same move.

    Moving to where the tenant is mends what has no vector there. Whoever calls this nudges the embedder once it is
    committed (`pending.nudge`). NotFound for a model that the deployment does not name; Conflict while the tenant is
    on its way to another. Needs admin.
    """
    require(principal, "admin")
    name = spaces.find(model)
    store.hold_tenant(tx)
    under_way = store.moving(tx)
    if under_way is None or under_way.finished_at is not None:
        store.begin_move(tx, name, now)
        target = f"tenant:{principal.tenant_id}"
        audit.record(principal, tx, "tenant.reembedding", target, {"space": name}, now, new_id)
    elif under_way.space != name:
        raise Conflict(f"this tenant is on its way to {under_way.space}; wait until it is there")
    pending.mark(tx, principal.tenant_id, now)
    return store.moved(tx)


def progress(principal: Principal, tx: Transaction) -> Moving | None:
    """How far the tenant's last move is; None when it was never moved. Needs viewer."""
    require(principal, "viewer")
    return store.moving(tx)


def clears_at(waiting: Waiting) -> datetime | None:
    """When the old vectors may go, when that is all that is left to do; None when there is more, or nothing."""
    if waiting.messages or waiting.rows or waiting.types or waiting.moving or waiting.left_at is None:
        return None
    return waiting.left_at + KEPT


def step(move: Move) -> None:
    """One batch: rows moved, the searches turned, or old vectors cleared."""
    moving, rows = move.database.run(move.principal, lambda tx: _next(tx, move.batch))
    if rows:
        _embed(move, moving, rows)
    elif moving.finished_at is None:
        _turn(move, moving)
    else:
        _clear(move, moving)


def _next(tx: Transaction, most: int) -> tuple[Moving, list[Text]]:
    """The rows after those that were moved last; at the end whatever was written behind."""
    moving = store.moved(tx)
    rows = store.rows_to_move(tx, moving.space, moving.cursor, most)
    if not rows and moving.cursor is not None:
        rows = store.rows_to_move(tx, moving.space, None, most)
    return moving, rows


def _embed(move: Move, moving: Moving, rows: list[Text]) -> None:
    """A text that the new model refuses has its old vector taken: words find it."""
    bought = paid.embed(move.purse, move.spaces.offer(moving.space), rows)

    def keep(tx: Transaction) -> None:
        store.add_moved(tx, bought.space, bought.vectors)
        store.remove_vectors(tx, bought.refused)
        store.note_moved(tx, cursor=rows[-1].id, before=moving.done, done=moving.done + len(rows))
        paid.settle(tx, move.purse, bought)

    move.database.run(move.principal, keep)


def _turn(move: Move, moving: Moving) -> None:
    """From now on searches look into the new space, unless a row came in that is not there."""
    now = move.purse.clock()

    def turn(tx: Transaction) -> bool:
        store.hold_tenant(tx)
        if store.rows_to_move(tx, moving.space, None, 1):
            return False
        store.turn_searches(tx, moving.space, now)
        return True

    if move.database.run(move.principal, turn):
        log.info("tenant_reembedded", tenant_id=move.principal.tenant_id, rows=moving.done)


def _clear(move: Move, moving: Moving) -> None:
    now = move.purse.clock()

    def clear(tx: Transaction) -> None:
        if store.clear_vectors(tx, moving.space, _CLEARED) < _CLEARED:
            store.note_cleared(tx, now)

    move.database.run(move.principal, clear)
