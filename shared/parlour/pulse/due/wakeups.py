"""Where no schedule looks every minute, what is due is woken by messages: one to come for each tenant, the earliest.

When it comes is written down with the tenant: who finds that something is due sends another one only if that is
earlier, and one that was overtaken so does nothing when it comes. What is due later than a message can be kept back is
delayed again when it comes, without a look at the database, which sleeps meanwhile.
"""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.errors import MalformedPayload, QueueUnavailable
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import LONGEST_DELAY_SECONDS, Delays
from parlour.pulse.due import store
from parlour.pulse.due.sweep import Sweeper, sweep_tenant

_SOON = timedelta(seconds=LONGEST_DELAY_SECONDS)
_LOST = timedelta(minutes=10)
"""How late a wake-up may be before it is taken to be lost."""


def wake(sweeper: Sweeper, wakeups: Delays, body: JsonObject) -> None:
    """What a wake-up is about: its tenant's Pulses that are due. What is due after that has a wake-up of its own then.

    MalformedPayload for a body that is none.
    """
    tenant_id, at, now = read_wakeup(body), _time(body), sweeper.clock()
    if at is not None and at > now:
        _send(wakeups, tenant_id, at, now)
        return
    if at is not None and not sweeper.database.run(tenant_id, lambda tx: _is_next(tx, at)):
        return
    sweep_tenant(sweeper, tenant_id)
    wake_later(sweeper.database, wakeups, tenant_id, sweeper.clock(), at)


def wake_later(
    database: Database, wakeups: Delays, tenant_id: UUID, now: datetime, came: datetime | None = None
) -> bool:
    """Have the tenant's Pulses looked at when the next of them is due, if that is soon, or it waits for something. What
    is due later, as for its age, is found by the daily sweep. Whether a wake-up was sent.

    came  the time of the wake-up that has come, and is over by this.
    """
    at = database.run(tenant_id, lambda tx: _plan(tx, now, came))
    if at is None:
        return False
    try:
        _send(wakeups, tenant_id, at, now)
    except QueueUnavailable:
        database.run(tenant_id, lambda tx: store.plan_wakeup(tx, came, None, now))
        raise
    return True


def read_wakeup(body: JsonObject) -> UUID:
    """The tenant that a wake-up is about; MalformedPayload when it is none."""
    try:
        return UUID(str(body["tenant_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('a wake-up for Pulses is {"tenant_id", "at"}') from None


def _time(body: JsonObject) -> datetime | None:
    """None: at once, whatever is planned."""
    try:
        return datetime.fromisoformat(str(body["at"])) if "at" in body else None
    except ValueError:
        raise MalformedPayload('a wake-up for Pulses is {"tenant_id", "at"}') from None


def _is_next(tx: Transaction, at: datetime) -> bool:
    """Whether no earlier one has taken its place."""
    planned = store.hold_wakeup(tx)
    return planned is not None and planned.at == at


def _plan(tx: Transaction, now: datetime, came: datetime | None) -> datetime | None:
    """When to wake the tenant by a message, written down; None when one is on its way, or none is needed. Asked by one
    at a time: who asks later sees what the other one saw."""
    planned = store.hold_wakeup(tx)
    if planned is None:
        return None
    if planned.planned_at == now and planned.at != came:
        return planned.at  # by this very call, when nobody heard of its commit
    due_at = store.next_due(tx, now + _SOON, now)
    at = max(due_at, now) if due_at else None
    on_its_way = planned.at if planned.at and planned.at != came and planned.at > now - _LOST else None
    if (at is None and came is None) or (on_its_way and (at is None or on_its_way <= at)):
        return None
    is_far = at is not None and at >= now + _SOON
    store.plan_wakeup(tx, at, at if is_far else planned.far_at, now)
    return None if is_far and planned.far_at == at else at


def _send(wakeups: Delays, tenant_id: UUID, at: datetime, now: datetime) -> None:
    seconds = min(max((at - now).total_seconds(), 0.0), LONGEST_DELAY_SECONDS)
    wakeups.send({"tenant_id": str(tenant_id), "at": at.isoformat()}, seconds)
