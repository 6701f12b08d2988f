"""Pulses in the database, as they are read."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.knowledge.records.kinds import FINDING
from parlour.knowledge.records.relations import BETWEEN_EQUALS, SAID_BY_THE_WHOLE
from parlour.pulse.due.rules import HALF_LIFE
from parlour.pulse.places import Place
from parlour.pulse.since import Change

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class SeenRow:
    """A record and the Pulse that its reader may see: `pulse` as a row of the table in JSON, None without one.

    is_kept   whether its kind has Pulses; None and False: no.
    withheld  there are some, and none of them for this reader now; closed: one of them was written from something that
              stands above its level by now.
    due_at    when somebody looks at it again.
    failed_level  whose text it was that nothing came of; those of lower levels were written. None: nobody's was.
    """

    id: UUID
    name: str
    handle: str
    is_kept: bool | None
    stale_since: datetime | None
    stale_causes: list[str]
    stale_marks: JsonObject
    problem: str | None
    problem_at: datetime | None
    failed_level: int | None
    failures: int
    dead_at: datetime | None
    waiting_for: str | None
    due_at: datetime | None
    pulse: JsonObject | None
    withheld: bool
    closed: bool


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A text that a Pulse had; `causes`: `{"cause", "since"}`, what it was written for, `marks` of them."""

    level: int
    version: int
    markdown: str
    statements: list[JsonObject]
    citations: list[JsonObject]
    model: str
    cost_usd: Decimal
    causes: list[JsonObject]
    marks: int
    generated_at: datetime


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """A question and, when it has one, its answer; not `is_open`: it is not for its asker any more."""

    id: UUID
    question: str
    asked_at: datetime
    answered_at: datetime | None
    problem: str | None
    model: str
    cost_usd: Decimal
    is_open: bool
    markdown: str
    citations: list[JsonObject]


@dataclass(frozen=True, slots=True)
class DayRow:
    """What became of a tenant's Pulses on a day; of how many `records`."""

    day: date
    records: int
    regenerated: int
    skipped: int
    coalesced: Decimal
    failed: int
    reads: int
    stale_reads: int
    stale_seconds: float
    stale_seconds_most: float
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class DearRow:
    """What a record's Pulses cost over some days."""

    handle: str
    name: str
    regenerated: int
    skipped: int
    reads: int
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class StandingRow:
    """How a tenant's Pulses stand; `own_cap`: None where the deployment's budget holds."""

    own_cap: Decimal | None
    spent: Decimal
    kept: int
    due: int
    due_since: datetime | None
    over_budget: int
    backing_off: int
    dead: int


def seen(tx: Transaction, entity_id: UUID, clearance: int) -> SeenRow | None:
    return tx.first(SQL["seen"], SeenRow, id=entity_id, clearance=clearance)


def changed_since(
    tx: Transaction, entity_id: UUID, since: datetime, clearance: int, told: Sequence[UUID], each: int
) -> list[Change]:
    """The newest `each` of every cause; `told`: the files that the Pulse was written from."""
    return tx.all(
        SQL["changed_since"], Change, id=entity_id, since=since, clearance=clearance, told=list(told), each=each,
        said_by_the_whole=SAID_BY_THE_WHOLE, between_equals=BETWEEN_EQUALS, finding=FINDING,
    )  # fmt: skip


def places(tx: Transaction, rows: Sequence[str], clearance: int) -> list[Place]:
    return tx.all(SQL["places"], Place, rows=list(rows), clearance=clearance)


def note_read(tx: Transaction, entity_id: UUID, day: date, now: datetime) -> None:
    tx.run(SQL["note_read"], id=entity_id, day=day, now=now, half=HALF_LIFE)


def versions(
    tx: Transaction, entity_id: UUID, level: int, *, numbers: Sequence[int] | None = None, before: int | None = None,
    most: int,
) -> list[VersionRow]:  # fmt: skip
    asked = None if numbers is None else list(numbers)
    return tx.all(SQL["versions"], VersionRow, id=entity_id, level=level, versions=asked, before=before, most=most)


def ask(
    tx: Transaction, entity_id: UUID, question_id: UUID, question: str, *, by: str, clearance: int, now: datetime
) -> None:
    tx.run(
        SQL["ask"], entity_id=entity_id, question_id=question_id, question=question, by=by, clearance=clearance, now=now
    )  # fmt: skip


def answer(tx: Transaction, entity_id: UUID, question_id: UUID, *, by: str, clearance: int) -> AnswerRow | None:
    return tx.first(
        SQL["answer"], AnswerRow, entity_id=entity_id, question_id=question_id, by=by, clearance=clearance
    )  # fmt: skip


def days(tx: Transaction, day: date, count: int) -> list[DayRow]:
    """The last `count` days up to `day`, the newest first; those without anything are not there."""
    return tx.all(SQL["days"], DayRow, day=day, days=count)


def dearest(tx: Transaction, day: date, count: int, most: int) -> list[DearRow]:
    return tx.all(SQL["dearest"], DearRow, day=day, days=count, most=most)


def standing(tx: Transaction, day: date, now: datetime) -> StandingRow:
    return tx.one(SQL["standing"], StandingRow, day=day, now=now)
