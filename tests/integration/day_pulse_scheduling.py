"""The part of the working day in which Pulses come due: they are sent to their writers, wait for budget, and are told
of, fail or are gone."""

import contextlib
from datetime import timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra.errors import SpendRefused
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.models import spend
from parlour.models.spend import Reservation
from parlour.principal import system_principal
from parlour.pulse.due import attempts, budget
from parlour.pulse.due.sweep import PulseSweepDependencies, sweep
from parlour.pulse.due.wakeups import handle_wakeup, schedule_wakeup
from parlour.records import crud, staleness
from parlour.records.crud import RecordInput
from tests.conversation_harness import ConversationHarness, FakeDelayedQueue

_PLENTY, _CENT, _NEXT_TO_NOTHING = Decimal(5), Decimal("0.01"), Decimal("0.0001")


def schedule_pulses(conversation: ConversationHarness) -> None:
    """Everything is due, and something changes while it is written; then a budget of next to nothing lets nothing
    through; then a record goes."""
    orders, wakeups = FakeDelayedQueue(), FakeDelayedQueue()
    sweeper = PulseSweepDependencies(conversation.database, orders, _PLENTY, _PLENTY, conversation.clock)
    with conversation.database.transaction(conversation.admin) as tx:
        made = [
            crud.create_record(conversation.admin, tx, RecordInput("plan", f"Shoring {one}"), conversation.clock())
            for one in range(3)
        ]
    conversation.clock.now += timedelta(minutes=10)
    assert sweep(sweeper, lambda: 60.0).sent_count >= len(made)
    first, second, third = (one.id for one in made)
    _write(conversation, first)
    _fail(conversation, second)
    with conversation.database.transaction(conversation.admin) as tx:
        assert budget.set_cap(conversation.admin, tx, _NEXT_TO_NOTHING, conversation.clock())
        staleness.request_refresh(tx, first, conversation.clock())
        _reserve(conversation, tx)
        with contextlib.suppress(SpendRefused):
            budget.check_budget(tx, _CENT, _PLENTY, conversation.clock())
    assert sweep(sweeper, lambda: 60.0).waiting_count >= 1
    with conversation.database.transaction(conversation.admin) as tx:
        staleness.request_refresh(tx, third, conversation.clock())
        crud.delete_record(conversation.admin, tx, third, None, conversation.clock())
        budget.set_cap(conversation.admin, tx, None, conversation.clock())
    handle_wakeup(sweeper, wakeups, {"tenant_id": str(conversation.tenant_id)})
    schedule_wakeup(conversation.database, wakeups, conversation.tenant_id, conversation.clock())


def _write(conversation: ConversationHarness, record_id: UUID) -> None:
    now = conversation.clock()
    until = now + timedelta(minutes=5)
    with conversation.database.transaction(system_principal(conversation.tenant_id)) as tx:
        assert attempts.lease(tx, record_id, until, now)
        seen = staleness.read_pending_changes(tx, record_id)
    assert seen is not None
    assert "changed" in seen.causes
    with conversation.database.transaction(conversation.admin) as tx:
        staleness.mark_stale_without_parents(tx, [record_id], "changed", conversation.clock())
    with conversation.database.transaction(system_principal(conversation.tenant_id)) as tx:
        assert attempts.lock_lease(tx, record_id, until)
        attempts.record_success(
            tx,
            record_id,
            attempts.CurrentPulses(seen, now, _CENT),
            until,
            now,
            window=timedelta(seconds=30),
            max_age=timedelta(hours=24),
        )


def _fail(conversation: ConversationHarness, record_id: UUID) -> None:
    now = conversation.clock()
    with conversation.database.transaction(system_principal(conversation.tenant_id)) as tx:
        assert attempts.lease(tx, record_id, now + timedelta(minutes=5), now)
        assert attempts.record_failure(tx, record_id, "provider_unavailable", now + timedelta(minutes=5), now) == 1


def _reserve(conversation: ConversationHarness, tx: Transaction) -> None:
    now = conversation.clock()
    spend.reserve(
        tx,
        Reservation(
            id=uuid7(now),
            amount=_CENT,
            purpose=budget.PULSE_PURPOSE,
            default_cap=_PLENTY,
            expires_at=now + timedelta(minutes=1),
        ),
        now=now,
    )
