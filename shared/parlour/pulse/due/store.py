"""Due Pulses, their states and their budget in the database."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.records.kinds import CLOSED_TALK, TALK
from parlour.pulse.due.rules import GIVEN_UP, GRACE, OUTAGES, Budget

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Id:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class DueRow:
    """A Pulse that is due; gone: nobody is to write it any more."""

    id: UUID
    due_at: datetime
    since: datetime | None
    reads: float
    read_at: datetime | None
    cost_usd: Decimal | None
    gone: bool


def tenants(tx: Transaction, now: datetime, most: int) -> list[UUID]:
    return [row.id for row in tx.all(SQL["tenants_with_pulses"], Id, now=now, most=most)]


def due(tx: Transaction, now: datetime, most: int) -> list[DueRow]:
    return tx.all(SQL["due_pulses"], DueRow, now=now, most=most, talk=TALK, over=CLOSED_TALK)


def next_due(tx: Transaction, soon: datetime, now: datetime) -> datetime | None:
    due_at: datetime | None = tx.value(SQL["next_pulse"], soon=soon, asked_after=now - GRACE)
    return due_at


@dataclass(frozen=True, slots=True)
class WakeupRow:
    """When a tenant's next wake-up comes, and when that was planned. far_at: the last one that is delayed again."""

    at: datetime | None
    far_at: datetime | None
    planned_at: datetime | None


def hold_wakeup(tx: Transaction) -> WakeupRow | None:
    """None when there is no such tenant."""
    return tx.first(SQL["hold_wakeup"], WakeupRow)


def plan_wakeup(tx: Transaction, at: datetime | None, far_at: datetime | None, now: datetime) -> None:
    tx.run(SQL["plan_wakeup"], at=at, far_at=far_at, now=now)


def free_waiting(tx: Transaction, now: datetime) -> None:
    tx.run(SQL["free_waiting"], now=now)


def under_way(tx: Transaction, now: datetime) -> int:
    return int(tx.value(SQL["under_way"], asked_after=now - GRACE) or 0)


def budget(tx: Transaction, day: date, pulse_cap: Decimal, default_cap: Decimal | None, now: datetime) -> Budget | None:
    caps = {"pulse_cap": pulse_cap, "default_cap": default_cap}
    return tx.first(SQL["pulse_budget"], Budget, day=day, asked_after=now - GRACE, **caps)


def reserved(tx: Transaction, day: date, purpose: str, but: UUID | None, now: datetime) -> Decimal:
    return Decimal(tx.value(SQL["pulse_reserved"], day=day, purpose=purpose, id=but, now=now) or 0)


def set_cap(tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    return tx.run(SQL["set_pulse_cap"], usd=usd, now=now) > 0


def take(tx: Transaction, rows: Sequence[tuple[UUID, datetime, datetime]], now: datetime) -> set[UUID]:
    """Put off each (record, when it was due, when it is due again) that is still due then; those that were."""
    ids, was, again = ([row[place] for row in rows] for place in range(3))
    return {row.id for row in tx.all(SQL["take_pulses"], Id, ids=ids, was=was, again=again, now=now)}


def settle(tx: Transaction, rows: Sequence[tuple[UUID, datetime | None]]) -> int:
    """Nobody looks at those of the records (and when they were due; None: whenever) that are still gone, and that
    nobody marks meanwhile; how many these are."""
    ids = [row[0] for row in rows]
    quiet = [row.id for row in tx.all(SQL["hold_gone"], Id, ids=ids)]
    was = [row[1] for row in rows]
    return tx.run(SQL["settle_pulses"], ids=ids, was=was, quiet=quiet, talk=TALK, over=CLOSED_TALK)


def note_asked(tx: Transaction, rows: Sequence[tuple[UUID, Decimal]], now: datetime) -> None:
    tx.run(SQL["note_asked"], ids=[row[0] for row in rows], usd=[row[1] for row in rows], now=now)


def is_asked(tx: Transaction, record_id: UUID) -> bool:
    return tx.value(SQL["is_asked"], id=record_id) is not None


def hold_record(tx: Transaction, record_id: UUID) -> None:
    tx.run(SQL["hold_marked"], id=record_id)


def note_waiting(tx: Transaction, ids: Sequence[UUID], waiting_for: str) -> None:
    tx.run(SQL["note_waiting"], ids=list(ids), waiting_for=waiting_for)


def note_written(tx: Transaction, record_id: UUID, cost_usd: Decimal | None) -> None:
    tx.run(SQL["note_written"], id=record_id, cost_usd=cost_usd)


def note_failed(tx: Transaction, record_id: UUID, problem: str, level: int | None, now: datetime) -> int:
    """How many tries in a row gave nothing."""
    failures: int = tx.value(
        SQL["note_failed"], id=record_id, problem=problem, level=level, now=now, given_up=GIVEN_UP,
        outages=sorted(OUTAGES),
    )  # fmt: skip
    return failures
