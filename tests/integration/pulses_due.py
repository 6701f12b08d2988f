"""The part of the working day in which Pulses come due: they are sent to their writers, wait for budget, and are told
of, fail or are gone."""

import contextlib
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import SpendRefused
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities, stale
from parlour.knowledge.records.entities import NewEntity
from parlour.models import spend
from parlour.principal import system
from parlour.pulse.due import budget, ending
from parlour.pulse.due.sweep import Sweeper, sweep
from parlour.pulse.due.wakeups import wake, wake_later
from tests.desk import Delayed, Desk

_PLENTY, _CENT, _NEXT_TO_NOTHING = Decimal(5), Decimal("0.01"), Decimal("0.0001")


def pulses_due(desk: Desk) -> None:
    """Everything is due, and something changes while it is written; then a budget of next to nothing lets nothing
    through; then a record goes."""
    orders, wakeups = Delayed(), Delayed()
    sweeper = Sweeper(desk.database, orders, _PLENTY, _PLENTY, desk.clock)
    with desk.database.transaction(desk.admin) as tx:
        made = [
            entities.create(desk.admin, tx, NewEntity("plan", f"Shoring {one}"), desk.clock(), uuid7)
            for one in range(3)
        ]
    desk.clock.now += timedelta(minutes=10)
    assert sweep(sweeper, lambda: 60.0).sent >= len(made)
    first, second, third = (one.id for one in made)
    _write(desk, first)
    _fail(desk, second)
    with desk.database.transaction(desk.admin) as tx:
        assert budget.set_cap(desk.admin, tx, _NEXT_TO_NOTHING, desk.clock())
        stale.ask(tx, first, desk.clock())
        _reserve(desk, tx)
        with contextlib.suppress(SpendRefused):
            budget.admit(tx, _CENT, _PLENTY, desk.clock())
    assert sweep(sweeper, lambda: 60.0).waiting >= 1
    with desk.database.transaction(desk.admin) as tx:
        stale.ask(tx, third, desk.clock())
        entities.delete(desk.admin, tx, third, None, desk.clock(), uuid7)
        budget.set_cap(desk.admin, tx, None, desk.clock())
    wake(sweeper, wakeups, {"tenant_id": str(desk.tenant_id)})
    wake_later(desk.database, wakeups, desk.tenant_id, desk.clock())


def _write(desk: Desk, record_id: UUID) -> None:
    now = desk.clock()
    until = now + timedelta(minutes=5)
    with desk.database.transaction(system(desk.tenant_id)) as tx:
        assert ending.begin(tx, record_id, until, now)
        seen = stale.unreflected(tx, record_id)
    assert seen is not None
    assert "changed" in seen.causes
    with desk.database.transaction(desk.admin) as tx:
        stale.mark_alone(tx, [record_id], "changed", desk.clock())
    with desk.database.transaction(system(desk.tenant_id)) as tx:
        assert ending.is_ours(tx, record_id, until)
        ending.written(
            tx, record_id, seen, now, window=timedelta(seconds=30), age=timedelta(hours=24), held_until=until,
            cost_usd=_CENT, now=now,
        )  # fmt: skip


def _fail(desk: Desk, record_id: UUID) -> None:
    now = desk.clock()
    with desk.database.transaction(system(desk.tenant_id)) as tx:
        assert ending.begin(tx, record_id, now + timedelta(minutes=5), now)
        assert ending.failed(tx, record_id, "provider_unavailable", now + timedelta(minutes=5), now) == 1


def _reserve(desk: Desk, tx: Transaction) -> None:
    now = desk.clock()
    spend.reserve(
        tx, reservation_id=uuid7(now), amount=_CENT, purpose=budget.PURPOSE, default_cap=_PLENTY,
        expires_at=now + timedelta(minutes=1), now=now,
    )  # fmt: skip
