"""Due Pulses, their states and their budget in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.pulse.due.scheduling_rules import MAX_FAILURES, OUTAGE_ERRORS, WRITER_TIMEOUT, PulseBudget
from parlour.records.built_in_types import CLOSED_CONVERSATION_STATES, CONVERSATION_TYPE

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class IdRow:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class DuePulseRow:
    """A Pulse that is due; gone: nobody is to write it any more."""

    id: UUID
    due_at: datetime
    stale_since: datetime | None
    decayed_reads: float
    reads_counted_at: datetime | None
    last_cost_usd: Decimal | None
    is_obsolete: bool


def list_tenants_with_due_pulses(tx: Transaction, now: datetime, limit: int) -> list[UUID]:
    return [row.id for row in tx.all(SQL["list_tenants_with_due_pulses"], IdRow, now=now, most=limit)]


def list_due_pulses(tx: Transaction, now: datetime, limit: int) -> list[DuePulseRow]:
    return tx.all(
        SQL["list_due_pulses"],
        DuePulseRow,
        now=now,
        most=limit,
        talk=CONVERSATION_TYPE,
        over=CLOSED_CONVERSATION_STATES,
    )


def find_next_due_at(tx: Transaction, before: datetime, now: datetime) -> datetime | None:
    due_at: datetime | None = tx.value(SQL["find_next_due_at"], soon=before, asked_after=now - WRITER_TIMEOUT)
    return due_at


@dataclass(frozen=True, slots=True)
class WakeupRow:
    """When a tenant's next wake-up comes, and when that was planned. far_at: the last one that is delayed again."""

    wakeup_at: datetime | None
    redelayed_wakeup_at: datetime | None
    planned_at: datetime | None


def lock_wakeup(tx: Transaction) -> WakeupRow | None:
    """None when there is no such tenant."""
    return tx.first(SQL["lock_wakeup"], WakeupRow)


def plan_wakeup(
    tx: Transaction, wakeup_at: datetime | None, redelayed_wakeup_at: datetime | None, now: datetime
) -> None:
    tx.run(SQL["plan_wakeup"], at=wakeup_at, far_at=redelayed_wakeup_at, now=now)


def release_budget_waits(tx: Transaction, now: datetime) -> None:
    tx.run(SQL["release_budget_waits"], now=now)


def count_in_flight(tx: Transaction, now: datetime) -> int:
    return int(tx.value(SQL["count_in_flight"], asked_after=now - WRITER_TIMEOUT) or 0)


def read_budget(
    tx: Transaction, day: date, default_pulse_cap: Decimal, default_cap: Decimal | None, now: datetime
) -> PulseBudget | None:
    caps = {"pulse_cap": default_pulse_cap, "default_cap": default_cap}
    return tx.first(SQL["read_budget"], PulseBudget, day=day, asked_after=now - WRITER_TIMEOUT, **caps)


def read_reserved_usd(
    tx: Transaction, day: date, purpose: str, own_reservation_id: UUID | None, now: datetime
) -> Decimal:
    return Decimal(tx.value(SQL["read_reserved_usd"], day=day, purpose=purpose, id=own_reservation_id, now=now) or 0)


def set_cap(tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    return tx.run(SQL["set_pulse_cap"], usd=usd, now=now) > 0


def reschedule_unchanged(tx: Transaction, rows: Sequence[tuple[UUID, datetime, datetime]], now: datetime) -> set[UUID]:
    """Put off each (record, when it was due, when it is due again) that is still due then; those that were."""
    ids, was, again = ([row[place] for row in rows] for place in range(3))
    return {row.id for row in tx.all(SQL["reschedule_unchanged"], IdRow, ids=ids, was=was, again=again, now=now)}


def delete_obsolete_work(tx: Transaction, rows: Sequence[tuple[UUID, datetime | None]]) -> int:
    """Nobody looks at those of the records (and when they were due; None: whenever) that are still gone, and that
    nobody marks meanwhile; how many these are."""
    ids = [row[0] for row in rows]
    quiet = [row.id for row in tx.all(SQL["try_lock_records"], IdRow, ids=ids)]
    was = [row[1] for row in rows]
    return tx.run(
        SQL["delete_obsolete_work"],
        ids=ids,
        was=was,
        quiet=quiet,
        talk=CONVERSATION_TYPE,
        over=CLOSED_CONVERSATION_STATES,
    )


def record_requests(tx: Transaction, rows: Sequence[tuple[UUID, Decimal]], now: datetime) -> None:
    tx.run(SQL["record_requests"], ids=[row[0] for row in rows], usd=[row[1] for row in rows], now=now)


def is_requested(tx: Transaction, record_id: UUID) -> bool:
    return tx.value(SQL["is_requested"], id=record_id) is not None


def lock_record(tx: Transaction, record_id: UUID) -> None:
    tx.run(SQL["lock_record"], id=record_id)


def set_waiting(tx: Transaction, ids: Sequence[UUID], waiting_for: str) -> None:
    tx.run(SQL["set_waiting"], ids=list(ids), waiting_for=waiting_for)


def record_success(tx: Transaction, record_id: UUID, cost_usd: Decimal | None) -> None:
    tx.run(SQL["record_success"], id=record_id, cost_usd=cost_usd)


def record_failure(tx: Transaction, record_id: UUID, problem: str, level: int | None, now: datetime) -> int:
    """How many tries in a row gave nothing."""
    failures: int = tx.value(
        SQL["record_failure"],
        id=record_id,
        problem=problem,
        level=level,
        now=now,
        given_up=MAX_FAILURES,
        outages=sorted(OUTAGE_ERRORS),
    )
    return failures
