"""Forgetting's way to the database: the named queries, and the records they read and write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from parlour.erasure.report import ErasableKind
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row, by its table and what it is known by there; of a composite key all parts but the tenant, with slashes."""

    table_name: str
    id: str


@dataclass(frozen=True, slots=True)
class IdRow:
    """One id."""

    id: UUID


@dataclass(frozen=True, slots=True)
class TextRow:
    """One text."""

    text: str


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
class ChangedRecordRow:
    """A record that a call made or changed: the row that tells of it, what the call asked for, and what the record says
    now."""

    id: UUID
    row_id: UUID | None
    arguments: JsonObject
    properties: JsonObject
    name: str
    handle: str


@dataclass(frozen=True, slots=True)
class PulseTextRow:
    """Something that was written about a record."""

    table_name: str
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
    prompt_inputs: bytes | None
    step_record: bytes | None
    session_id: UUID | None


@dataclass(frozen=True, slots=True)
class RecordScope:
    """Whose records of prompts are read: those of some sessions and of a user's, or (`mine` is False) all others; those
    written from some time on."""

    sessions: Sequence[UUID]
    user_id: UUID | None
    is_own: bool
    since: datetime


@dataclass(frozen=True, slots=True)
class ErasureRow:
    """One forgetting, whether it is over or under way."""

    id: UUID
    kind: ErasableKind
    target_id: UUID
    requested_by: str
    keep_records: bool
    state: str
    report: JsonObject
    at: datetime


@dataclass(frozen=True, slots=True)
class ErasureListItem:
    """An erasure in a list; `counts`: rows by action, None until it is finished."""

    id: UUID
    kind: str
    target_id: UUID
    requested_by: str
    counts: JsonObject | None
    finished: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class RunningErasureRow:
    """A forgetting as it is kept. left: None as long as nothing was taken away; told: its report with all rows."""

    id: UUID
    requested_by: str
    keep_records: bool
    at: datetime
    search_progress: JsonObject | None
    remaining_work: JsonObject | None
    partial_report: JsonObject | None
    completed_work: JsonObject | None


def read_table_rows(tx: Transaction, query: str, **given: object) -> list[TableRow]:
    """Rows that hang on something, by a query that names them."""
    return tx.all(SQL[query], TableRow, **given)


def read_ids(tx: Transaction, query: str, **given: object) -> list[UUID]:
    """Ids, by a query that reads them."""
    return [one.id for one in tx.all(SQL[query], IdRow, **given)]


def read_texts(tx: Transaction, query: str, **given: object) -> list[str]:
    """Texts, by a query that reads them."""
    return [one.text for one in tx.all(SQL[query], TextRow, **given)]


def execute(tx: Transaction, query: str, **given: object) -> int:
    """Take something away; how many rows of what the query is about went."""
    return tx.run(SQL[query], **given)


def find_message(tx: Transaction, message_id: UUID) -> MessageRow | None:
    return tx.first(SQL["find_message"], MessageRow, id=message_id)


def find_turns(tx: Transaction, turn_ids: Sequence[UUID]) -> list[TurnRow]:
    return tx.all(SQL["find_turns"], TurnRow, ids=list(turn_ids))


def find_changed_records(tx: Transaction, turn_ids: Sequence[UUID]) -> list[ChangedRecordRow]:
    return tx.all(SQL["find_changed_records"], ChangedRecordRow, turns=list(turn_ids))


def find_pulse_texts(tx: Transaction, **told: object) -> list[PulseTextRow]:
    """Return the Pulse texts that were written from erased sources, by the parameters of `delete_pulse_texts`."""
    return tx.all(SQL["find_pulse_texts"], PulseTextRow, **told)


def find_archives(tx: Transaction, sessions: Sequence[UUID], messages: Sequence[UUID]) -> list[ArchiveRow]:
    return tx.all(SQL["find_archives"], ArchiveRow, sessions=list(sessions), messages=list(messages))


def list_ledger_rows_after(
    tx: Transaction, scope: RecordScope, month: date, turn_id: UUID, step: int, limit: int
) -> list[LedgerRow]:
    """Return prompt records from `month` on that come after one step of a turn."""
    return tx.all(
        SQL["list_ledger_rows_after"],
        LedgerRow,
        month=month,
        turn_id=turn_id,
        step=step,
        most=limit,
        mine=scope.is_own,
        sessions=list(scope.sessions),
        user_id=scope.user_id,
        since=scope.since,
    )


def find_ledger_rows(tx: Transaction, records: Sequence[tuple[UUID, int]]) -> list[LedgerRow]:
    """Return prompt records by turn and step."""
    turns, steps = [turn for turn, _ in records], [step for _, step in records]
    return tx.all(SQL["find_ledger_rows"], LedgerRow, turns=turns, steps=steps)


def update_ledger_row(tx: Transaction, row: LedgerRow) -> None:
    tx.run(SQL["update_ledger_row"], turn_id=row.turn_id, step=row.step, basis=row.prompt_inputs, made=row.step_record)


def find_first_month(tx: Transaction) -> date | None:
    found: date | None = tx.value(SQL["find_first_month"])
    return found


def find_texts_matching(tx: Transaction, month: date, hashes: Sequence[str], patterns: Sequence[str]) -> list[str]:
    return read_texts(tx, "find_texts_matching", month=month, hashes=list(hashes), patterns=list(patterns))


def begin_erasure(tx: Transaction, row: ErasureRow) -> None:
    """Write down that it is under way, unless it is."""
    tx.run(
        SQL["begin_erasure"],
        id=row.id,
        kind=row.kind,
        target_id=row.target_id,
        asked_by=row.requested_by,
        keep_records=row.keep_records,
        report=row.report,
        at=row.at,
    )


def lock_running_erasure(tx: Transaction, kind: str, target_id: UUID) -> RunningErasureRow | None:
    """Return and lock the running erasure of the target."""
    return tx.first(SQL["lock_running_erasure"], RunningErasureRow, kind=kind, target_id=target_id)


def save_search_progress(tx: Transaction, row_id: UUID, progress: JsonObject) -> None:
    tx.run(SQL["save_search_progress"], id=row_id, seen=progress)


def save_remaining_work(
    tx: Transaction, row_id: UUID, remaining_work: JsonObject, partial_report: JsonObject, completed_work: JsonObject
) -> None:
    tx.run(SQL["save_remaining_work"], id=row_id, left=remaining_work, told=partial_report, done=completed_work)


def save_completed_work(tx: Transaction, row_id: UUID, completed_work: JsonObject) -> None:
    tx.run(SQL["save_completed_work"], id=row_id, done=completed_work)


def finish_erasure(tx: Transaction, row_id: UUID, report: JsonObject, at: datetime) -> None:
    """Finish the erasure: its report stays, and its progress is deleted."""
    tx.run(SQL["finish_erasure"], id=row_id, report=report, at=at)


def list_erasures(tx: Transaction, after: tuple[datetime, UUID] | None, limit: int) -> list[ErasureListItem]:
    after_at, after_id = after or (None, None)
    return tx.all(SQL["list_erasures"], ErasureListItem, after_at=after_at, after_id=after_id, most=limit)


def find_reports(
    tx: Transaction, limit: int, report_id: UUID | None = None, target: tuple[str, UUID] | None = None
) -> list[ErasureRow]:
    kind, target_id = target or (None, None)
    return tx.all(SQL["find_reports"], ErasureRow, id=report_id, kind=kind, target_id=target_id, most=limit)
