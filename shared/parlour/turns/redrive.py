"""Turns that failed: what they left unanswered, answered after all, or let be."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Conflict
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import Queue
from parlour.infra.work_due import GRACE
from parlour.principal import Principal
from parlour.tenancy import roles
from parlour.turns import store
from parlour.turns.receive import Wake
from parlour.turns.records import ParkedTurn

_GONE = "this turn does not wait any more: it was redriven or dismissed in the meantime"


def parked(principal: Principal, tx: Transaction, most: int) -> list[ParkedTurn]:
    """The failed turns that nobody has decided on, oldest first, as far as the viewer's clearance goes."""
    roles.require(principal, "viewer")
    return store.parked_turns(tx, principal.clearance, most)


def redrive(
    principal: Principal, database: Database, queues: Mapping[str, Queue], turn_id: UUID, now: datetime
) -> None:
    """Have the failed turn's messages answered by a turn of their own; `queues` are the turn queues by channel.

    Conflict when somebody was quicker. When the wake-up cannot be sent, QueueUnavailable: the messages are
    unanswered by then, so the next message of the session, or the sweep, brings the turn about.
    """
    roles.require(principal, "admin")
    place = database.run(principal, lambda tx: store.redrive_turn(tx, turn_id, now, now + GRACE))
    if place is None:
        raise Conflict(_GONE)
    log.info("turn_redriven", tenant_id=principal.tenant_id, turn_id=turn_id, session_id=place.session_id)
    wake = Wake(principal.tenant_id, place.session_id).message(f"redrive:{turn_id}:{now.isoformat()}")
    queues[place.channel].send([wake])


def dismiss(principal: Principal, tx: Transaction, turn_id: UUID, now: datetime) -> None:
    """Leave the failed turn's messages unanswered; Conflict when somebody was quicker."""
    roles.require(principal, "admin")
    if not store.dismiss_turn(tx, turn_id, now):
        raise Conflict(_GONE)
