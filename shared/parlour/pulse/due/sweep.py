"""The Pulses that are due, to their writers: tenant by tenant, the most valuable first, within the day's budget.

Only what is due is read, by index: a hundred thousand fresh Pulses cost a sweep nothing. Whatever is sent is put off
first, in one transaction that two sweeps cannot both win, so that each is sent once; should its message be lost or its
writer die, it is due again then. What waits for budget is put off to the next day, and says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import RetryError
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.infra.queues import Delays
from parlour.knowledge.records import stale
from parlour.pulse.due import budget, rules, store
from parlour.pulse.due.rules import Budget, Candidate, Choice
from parlour.pulse.due.store import DueRow
from parlour.pulse.pulse import Order

MOST = 120
"""Pulses that are with the writers at once: five of them get through these in some minutes, also when each takes many
seconds. What is still to be sent is worth another thing by then, and is put in order again."""

MOST_RANKED = 10_000
"""Of one tenant's Pulses that are due, how many are compared; they have some hundred bytes each."""

_MOST_TENANTS = 1_000
_LEAST_EACH = 10
"""How many of a tenant's Pulses are sent however many other tenants have some."""

_SECONDS_KEPT = 10.0
"""A sweep begins no further tenant with less time than this."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """What a sweep reaches. pulses: the writers' queue.

    default_cap, pulse_cap  what model calls, and those for Pulses, may cost a tenant in a day that has no own caps.
    """

    database: Database
    pulses: Delays
    default_cap: Decimal
    pulse_cap: Decimal
    clock: Callable[[], datetime]


@dataclass(frozen=True, slots=True)
class Swept:
    """What became of the Pulses that were due; left: there were more than fitted."""

    sent: int = 0
    waiting: int = 0
    settled: int = 0
    left: bool = False

    def __add__(self, other: "Swept") -> "Swept":
        return Swept(
            self.sent + other.sent, self.waiting + other.waiting, self.settled + other.settled, self.left or other.left
        )


def sweep(sweeper: Sweeper, seconds_left: SecondsLeft) -> Swept:
    """Every tenant's. Raises RetryError when the database or the queue is away."""
    now = sweeper.clock()
    tenants = sweeper.database.run(None, lambda tx: store.tenants(tx, now, _MOST_TENANTS))
    each = max(_LEAST_EACH, MOST // len(tenants)) if tenants else 0
    swept = Swept()
    for tenant_id in tenants:
        if seconds_left() < _SECONDS_KEPT:
            swept += Swept(left=True)
            break
        swept += _one_safely(sweeper, tenant_id, each)
    if swept.left:
        log.count("PulseSweepBehind")
    log.info("pulses_swept", sent=swept.sent, waiting=swept.waiting, settled=swept.settled, left=swept.left)
    return swept


def sweep_tenant(sweeper: Sweeper, tenant_id: UUID, most: int = MOST) -> Swept:
    """One tenant's; at most `most` are sent, and no more than its writers get through."""
    now = sweeper.clock()
    rows = sweeper.database.run(tenant_id, lambda tx: store.due(tx, now, MOST_RANKED))
    gone, due = [row for row in rows if row.gone], [row for row in rows if not row.gone]
    old = sorted(row.id for row in due if row.since is None)
    if old:
        sweeper.database.run(tenant_id, lambda tx: stale.mark_alone(tx, old, "age", now))

    settled = (
        sweeper.database.run(tenant_id, lambda tx: store.settle(tx, [(row.id, row.due_at) for row in gone]))
        if gone else 0
    )  # fmt: skip

    def decide(tx: Transaction) -> tuple[list[UUID], Choice]:
        today = budget.today(tx, sweeper.pulse_cap, now, sweeper.default_cap)
        room = max(min(most, MOST - store.under_way(tx, now)), 0)
        chosen = rules.choose([_candidate(row) for row in due], today, room, now)
        return _put_off(tx, chosen, today, now), chosen

    taken, chosen = sweeper.database.run(tenant_id, decide) if rows else ([], Choice((), (), ()))
    for record_id in taken:
        sweeper.pulses.send(Order(tenant_id, record_id).to_json(), 0)
    left = bool(chosen.left) or len(rows) == MOST_RANKED
    return Swept(len(taken), len(chosen.wait), settled, left)


def _one_safely(sweeper: Sweeper, tenant_id: UUID, most: int) -> Swept:
    """A tenant whose Pulses break the look stands in no other's way; they stay due."""
    try:
        return sweep_tenant(sweeper, tenant_id, most)
    except RetryError:
        raise
    except Exception as problem:  # noqa: BLE001 - logged and counted, and the work stays due
        log.error("pulse_sweep_stumbled", problem, tenant_id=tenant_id)
        log.count("Poison")
        return Swept(left=True)


def _put_off(tx: Transaction, chosen: Choice, today: Budget, now: datetime) -> list[UUID]:
    """Put off what is sent and what waits, each unless another sweep did so; what is to be sent, in its order."""
    again = rules.room_again(today, now)
    rows = [(one.id, one.due_at, now + rules.GRACE) for one in chosen.send]
    rows += [(one.id, one.due_at, again) for one in chosen.wait]
    taken = store.take(tx, rows, now) if rows else set()
    send = [one for one in chosen.send if one.id in taken]
    if send:
        store.note_asked(tx, [(one.id, one.expected) for one in send], now)
    if wait := [one.id for one in chosen.wait if one.id in taken]:
        store.note_waiting(tx, wait, "budget")
    return [one.id for one in send]


def _candidate(row: DueRow) -> Candidate:
    return Candidate(row.id, row.due_at, row.since, row.reads, row.read_at, row.cost_usd)
