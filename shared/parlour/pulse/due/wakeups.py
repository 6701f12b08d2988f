"""Where no schedule looks every minute, what is due is woken by messages: one to come for each tenant, the earliest.

When it comes is written down with the tenant: who finds that something is due sends another one only if that is
earlier, and one that was overtaken so does nothing when it comes. What is due later than a message can be kept back is
delayed again when it comes, without a look at the database, which sleeps meanwhile.
"""

from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra.errors import MalformedPayload, QueueUnavailable
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.infra.queues import MAX_DELAY_SECONDS, DelayedQueue
from parlour.pulse.due import store
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep_tenant

_MAX_DELAY = timedelta(seconds=MAX_DELAY_SECONDS)
_LOST_AFTER = timedelta(minutes=10)
"""How late a wake-up may be before it is taken to be lost."""


def handle_wakeup(dependencies: PulseSweepDependencies, wakeup_queue: DelayedQueue, body: JsonObject) -> None:
    """Write the tenant's Pulses that are due; later ones have wake-ups of their own.

    MalformedPayload for a body that is no wake-up.
    """
    tenant_id, at, now = parse_wakeup(body), _wakeup_time(body), dependencies.clock()
    if at is not None and at > now:
        _send_wakeup(wakeup_queue, tenant_id, at, now)
        return
    if at is not None and not dependencies.database.run(tenant_id, lambda tx: _is_planned_wakeup(tx, at)):
        return
    sweep_tenant(dependencies, tenant_id)
    schedule_wakeup(dependencies.database, wakeup_queue, tenant_id, dependencies.clock(), at)


def schedule_wakeup(
    database: Database,
    wakeup_queue: DelayedQueue,
    tenant_id: UUID,
    now: datetime,
    received_wakeup_at: datetime | None = None,
) -> bool:
    """Have the tenant's Pulses looked at when the next of them is due, if that is soon, or it waits for something. What
    is due later, as for its age, is found by the daily sweep. Whether a wake-up was sent.

    came  the time of the wake-up that has come, and is over by this.
    """
    at = database.run(tenant_id, lambda tx: _plan_wakeup(tx, now, received_wakeup_at))
    if at is None:
        return False
    try:
        _send_wakeup(wakeup_queue, tenant_id, at, now)
    except QueueUnavailable:
        database.run(tenant_id, lambda tx: store.plan_wakeup(tx, received_wakeup_at, None, now))
        raise
    return True


def parse_wakeup(body: JsonObject) -> UUID:
    """Return the tenant that a wake-up is about; MalformedPayload when it is none."""
    try:
        return UUID(str(body["tenant_id"]))
    except (KeyError, ValueError):
        raise MalformedPayload('a wake-up for Pulses is {"tenant_id", "at"}') from None


def _wakeup_time(body: JsonObject) -> datetime | None:
    """None: at once, whatever is planned."""
    try:
        return datetime.fromisoformat(str(body["at"])) if "at" in body else None
    except ValueError:
        raise MalformedPayload('a wake-up for Pulses is {"tenant_id", "at"}') from None


def _is_planned_wakeup(tx: Transaction, wakeup_at: datetime) -> bool:
    """Whether no earlier one has taken its place."""
    planned = store.lock_wakeup(tx)
    return planned is not None and planned.wakeup_at == wakeup_at


def _plan_wakeup(tx: Transaction, now: datetime, received_wakeup_at: datetime | None) -> datetime | None:
    """When to wake the tenant by a message, written down; None when one is on its way, or none is needed. Asked by one
    at a time: who asks later sees what the other one saw."""
    planned = store.lock_wakeup(tx)
    if planned is None:
        return None
    if planned.planned_at == now and planned.wakeup_at != received_wakeup_at:
        return planned.wakeup_at  # by this very call, when nobody heard of its commit
    due_at = store.find_next_due_at(tx, now + _MAX_DELAY, now)
    at = max(due_at, now) if due_at else None
    on_its_way = (
        planned.wakeup_at
        if planned.wakeup_at and planned.wakeup_at != received_wakeup_at and planned.wakeup_at > now - _LOST_AFTER
        else None
    )
    if (at is None and received_wakeup_at is None) or (on_its_way and (at is None or on_its_way <= at)):
        return None
    is_far = at is not None and at >= now + _MAX_DELAY
    store.plan_wakeup(tx, at, at if is_far else planned.redelayed_wakeup_at, now)
    return None if is_far and planned.redelayed_wakeup_at == at else at


def _send_wakeup(wakeup_queue: DelayedQueue, tenant_id: UUID, wakeup_at: datetime, now: datetime) -> None:
    seconds = min(max((wakeup_at - now).total_seconds(), 0.0), MAX_DELAY_SECONDS)
    wakeup_queue.send({"tenant_id": str(tenant_id), "at": wakeup_at.isoformat()}, seconds)
