"""Forgetting's way to the database: the named queries, and the records they read and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class Placed:
    """A row, by its table and what it is known by there; of a composite key all parts but the tenant, with slashes."""

    place: str
    id: str


@dataclass(frozen=True, slots=True)
class Id:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class Word:
    """One text."""

    id: str


@dataclass(frozen=True, slots=True)
class MessageRow:
    """A message, in whose conversation and turn it is."""

    id: UUID
    session_id: UUID
    turn_id: UUID | None
    body: str
    received_at: datetime
    provider_message_id: str | None
    user_id: UUID


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn: where it stands in its session, and whether it is being answered."""

    id: UUID
    session_id: UUID
    number: int
    is_open: bool


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A record that a call made or changed: the row that tells of it, what the call asked for, and what the record says
    now."""

    id: UUID
    row_id: UUID | None
    arguments: JsonObject
    properties: JsonObject
    name: str
    handle: str


@dataclass(frozen=True, slots=True)
class PulseRow:
    """Something that was written about a record."""

    place: str
    id: str
    entity_id: UUID


@dataclass(frozen=True, slots=True)
class ArchiveRow:
    """An archive of a session's messages."""

    id: UUID
    session_id: UUID
    object_key: str


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The record of a prompt; step -1: of a Pulse's, which has no session."""

    turn_id: UUID
    step: int
    month: date
    basis: bytes | None
    made: bytes | None
    session_id: UUID | None


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose records of prompts are read: those of some sessions and of a user's, or (`mine` is False) all others; those
    written from some time on."""

    sessions: Sequence[UUID]
    user_id: UUID | None
    mine: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One forgetting, whether it is over or under way."""

    id: UUID
    kind: str
    target_id: UUID
    asked_by: str
    keep_records: bool
    state: str
    report: JsonObject
    at: datetime


@dataclass(frozen=True, slots=True)
class ListedRow:
    """One forgetting as a list has it; counts: rows by their fate."""

    id: UUID
    kind: str
    target_id: UUID
    asked_by: str
    counts: JsonObject | None
    finished: bool | None
    at: datetime


@dataclass(frozen=True, slots=True)
class UnderWayRow:
    """A forgetting as it is kept. left: None as long as nothing was taken away; told: its report with all rows."""

    id: UUID
    asked_by: str
    keep_records: bool
    at: datetime
    seen: JsonObject | None
    left: JsonObject | None
    told: JsonObject | None
    done: JsonObject | None


def placed(tx: Transaction, query: str, **given: object) -> list[Placed]:
    """Rows that hang on something, by a query that names them."""
    return tx.all(SQL[query], Placed, **given)


def ids(tx: Transaction, query: str, **given: object) -> list[UUID]:
    """Ids, by a query that reads them."""
    return [one.id for one in tx.all(SQL[query], Id, **given)]


def words(tx: Transaction, query: str, **given: object) -> list[str]:
    """Texts, by a query that reads them."""
    return [one.id for one in tx.all(SQL[query], Word, **given)]


def run(tx: Transaction, query: str, **given: object) -> int:
    """Take something away; how many rows of what the query is about went."""
    return tx.run(SQL[query], **given)


def message(tx: Transaction, message_id: UUID) -> MessageRow | None:
    return tx.first(SQL["message"], MessageRow, id=message_id)


def turns(tx: Transaction, turn_ids: Sequence[UUID]) -> list[TurnRow]:
    return tx.all(SQL["turns"], TurnRow, ids=list(turn_ids))


def changed(tx: Transaction, turn_ids: Sequence[UUID]) -> list[ChangedRow]:
    return tx.all(SQL["changed_by_calls"], ChangedRow, turns=list(turn_ids))


def pulses(tx: Transaction, **told: object) -> list[PulseRow]:
    """What was written from what goes, by the parameters of `drop_pulses`."""
    return tx.all(SQL["pulses_told_of"], PulseRow, **told)


def archives(tx: Transaction, sessions: Sequence[UUID], messages: Sequence[UUID]) -> list[ArchiveRow]:
    return tx.all(SQL["archives"], ArchiveRow, sessions=list(sessions), messages=list(messages))


def ledgers_after(
    tx: Transaction, whose: Whose, month: date, turn_id: UUID, step: int, most: int
) -> list[LedgerRow]:  # fmt: skip
    """Records of prompts from `month` on that come after one of a turn's step."""
    return tx.all(
        SQL["ledgers_after"], LedgerRow, month=month, turn_id=turn_id, step=step, most=most, mine=whose.mine,
        sessions=list(whose.sessions), user_id=whose.user_id, since=whose.since,
    )  # fmt: skip


def ledgers_named(tx: Transaction, records: Sequence[tuple[UUID, int]]) -> list[LedgerRow]:
    """Records of prompts by turn and step."""
    turns, steps = [turn for turn, _ in records], [step for _, step in records]
    return tx.all(SQL["ledgers_named"], LedgerRow, turns=turns, steps=steps)


def put_ledger(tx: Transaction, row: LedgerRow) -> None:
    tx.run(SQL["put_ledger"], turn_id=row.turn_id, step=row.step, basis=row.basis, made=row.made)


def first_month(tx: Transaction) -> date | None:
    found: date | None = tx.value(SQL["first_month"])
    return found


def texts_saying(tx: Transaction, month: date, hashes: Sequence[str], patterns: Sequence[str]) -> list[str]:
    return words(tx, "texts_saying", month=month, hashes=list(hashes), patterns=list(patterns))


def begin_forgetting(tx: Transaction, row: ReportRow) -> None:
    """Write down that it is under way, unless it is."""
    tx.run(
        SQL["begin_forgetting"], id=row.id, kind=row.kind, target_id=row.target_id, asked_by=row.asked_by,
        keep_records=row.keep_records, report=row.report, at=row.at,
    )  # fmt: skip


def under_way(tx: Transaction, kind: str, target_id: UUID) -> UnderWayRow | None:
    """The forgetting of it that is under way, which nobody else goes on with until the transaction ends."""
    return tx.first(SQL["under_way"], UnderWayRow, kind=kind, target_id=target_id)


def note_seen(tx: Transaction, row_id: UUID, seen: JsonObject) -> None:
    tx.run(SQL["note_seen"], id=row_id, seen=seen)


def note_left(tx: Transaction, row_id: UUID, left: JsonObject, told: JsonObject, done: JsonObject) -> None:
    tx.run(SQL["note_left"], id=row_id, left=left, told=told, done=done)


def note_done(tx: Transaction, row_id: UUID, done: JsonObject) -> None:
    tx.run(SQL["note_done"], id=row_id, done=done)


def end_forgetting(tx: Transaction, row_id: UUID, report: JsonObject, at: datetime) -> None:
    """It is over: its report stays, and nothing of what it was done by."""
    tx.run(SQL["end_forgetting"], id=row_id, report=report, at=at)


def listed(tx: Transaction, most: int) -> list[ListedRow]:
    return tx.all(SQL["listed"], ListedRow, most=most)


def reports(
    tx: Transaction, most: int, report_id: UUID | None = None, target: tuple[str, UUID] | None = None
) -> list[ReportRow]:  # fmt: skip
    kind, target_id = target or (None, None)
    return tx.all(SQL["reports"], ReportRow, id=report_id, kind=kind, target_id=target_id, most=most)
