"""Pulses in the database, as they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.pulse.due.scheduling_rules import READ_HALF_LIFE
from parlour.pulse.reading.changes_since import ChangeSincePulse
from parlour.records.built_in_types import FINDING_TYPE

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class PulseViewRow:
    """A record and the Pulse that its reader may see: `pulse` is a row of the table in JSON, None without one.

    has_pulses            whether its type has Pulses; None and False: no.
    is_withheld           whether there are Pulses, but none that this reader may see now.
    has_restricted_level  whether a source of one of them has risen above its level.
    due_at                when it is checked again.
    failed_level          the level that failed, after the lower ones were written; None when all levels failed.
    """

    id: UUID
    name: str
    handle: str
    has_pulses: bool | None
    stale_since: datetime | None
    stale_causes: list[str]
    stale_marks: JsonObject
    problem: str | None
    problem_at: datetime | None
    failed_level: int | None
    failures: int
    given_up_at: datetime | None
    waiting_for: str | None
    due_at: datetime | None
    pulse: JsonObject | None
    is_withheld: bool
    has_restricted_level: bool


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A text that a Pulse had; `causes`: `{"cause", "since"}`, what it was written for, `mark_count` of them."""

    level: int
    version: int
    markdown: str
    statements: list[JsonObject]
    citations: list[JsonObject]
    model: str
    cost_usd: Decimal
    causes: list[JsonObject] | None
    mark_count: int | None
    generated_at: datetime


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A question and, when it has one, its answer; `is_withheld`: its asker may not see it any more."""

    id: UUID
    question: str
    asked_at: datetime
    answered_at: datetime | None
    problem: str | None
    model: str
    cost_usd: Decimal
    is_withheld: bool
    markdown: str
    citations: list[JsonObject]


@dataclass(frozen=True, slots=True)
class DayRow:
    """What became of a tenant's Pulses on a day; of how many `records`."""

    day: date
    record_count: int
    regenerated: int
    skipped: int
    coalesced: Decimal
    failed: int
    reads: int
    stale_reads: int
    stale_seconds: float
    max_stale_seconds: float
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class RecordCostRow:
    """What a record's Pulses cost over some days."""

    handle: str
    name: str
    regenerated: int
    skipped: int
    reads: int
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class CurrentStatisticsRow:
    """The state of a tenant's Pulses; `own_cap_usd` is None where the deployment's budget applies."""

    own_cap_usd: Decimal | None
    spent_usd: Decimal
    record_count: int
    due_count: int
    due_since: datetime | None
    over_budget_count: int
    backing_off_count: int
    given_up_count: int


def find_pulse_view(tx: Transaction, entity_id: UUID, clearance: int) -> PulseViewRow | None:
    return tx.first(SQL["find_pulse_view"], PulseViewRow, id=entity_id, clearance=clearance)


def list_changes_since(
    tx: Transaction, entity_id: UUID, since: datetime, clearance: int, file_ids: Sequence[UUID], limit_per_cause: int
) -> list[ChangeSincePulse]:
    """Return the newest changes of every cause; `file_ids` are the files that the Pulse was written from."""
    return tx.all(
        SQL["list_changes_since"],
        ChangeSincePulse,
        id=entity_id,
        since=since,
        clearance=clearance,
        told=list(file_ids),
        each=limit_per_cause,
        finding=FINDING_TYPE,
    )


def record_read(tx: Transaction, entity_id: UUID, day: date, now: datetime) -> None:
    tx.run(SQL["record_read"], id=entity_id, day=day, now=now, half=READ_HALF_LIFE)


def list_versions(
    tx: Transaction,
    entity_id: UUID,
    level: int,
    *,
    numbers: Sequence[int] | None = None,
    before_version: int | None = None,
    limit: int,
) -> list[VersionRow]:
    asked = None if numbers is None else list(numbers)
    return tx.all(
        SQL["list_versions"], VersionRow, id=entity_id, level=level, versions=asked, before=before_version, most=limit
    )


def add_question(
    tx: Transaction, entity_id: UUID, question_id: UUID, question: str, *, asked_by: str, clearance: int, now: datetime
) -> None:
    tx.run(
        SQL["add_question"],
        entity_id=entity_id,
        question_id=question_id,
        question=question,
        by=asked_by,
        clearance=clearance,
        now=now,
    )


def find_answer(
    tx: Transaction, entity_id: UUID, question_id: UUID, *, asked_by: str, clearance: int
) -> AnswerRow | None:
    return tx.first(
        SQL["find_answer"], AnswerRow, entity_id=entity_id, question_id=question_id, by=asked_by, clearance=clearance
    )


def list_days(tx: Transaction, day: date, day_count: int) -> list[DayRow]:
    """Return the last days up to `day`, the newest first; days without an entry are left out."""
    return tx.all(SQL["list_days"], DayRow, day=day, days=day_count)


def list_most_expensive(tx: Transaction, day: date, day_count: int, limit: int) -> list[RecordCostRow]:
    return tx.all(SQL["list_most_expensive"], RecordCostRow, day=day, days=day_count, most=limit)


def read_current_statistics(tx: Transaction, day: date, now: datetime) -> CurrentStatisticsRow:
    return tx.one(SQL["read_current_statistics"], CurrentStatisticsRow, day=day, now=now)
