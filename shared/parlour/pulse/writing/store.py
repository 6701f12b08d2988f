"""Pulses in the database, as they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries

SQL = Queries.beside(__file__)


@dataclass(frozen=True, slots=True)
class KeptRow:
    """What a Pulse was written from."""

    level: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class NewText:
    """A text that a Pulse gets. causes: `{"cause", "since"}`, what it was written for; marks: how many of them."""

    level: int
    markdown: str
    statements: Sequence[JsonObject]
    citations: Sequence[JsonObject]
    told_of: Sequence[str]
    dropped: JsonObject
    fingerprint: str
    prompt_version: str
    provider: str
    model: str
    cost_usd: Decimal
    causes: Sequence[JsonObject]
    marks: int
    read_at: datetime
    generated_at: datetime


@dataclass(frozen=True, slots=True)
class Day:
    """What one look of a writer adds to a record's day."""

    day: date
    regenerated: int = 0
    skipped: int = 0
    coalesced: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal()


@dataclass(frozen=True, slots=True)
class NewLedger:
    """The record of one prompt, packed, its words apart: `words` by their hashes."""

    id: UUID
    entity_id: UUID
    level: int
    at: datetime
    model: str
    prompt_hash: str
    basis: bytes
    words: Mapping[str, str]
    told_of: Sequence[str]
    outcome: str
    question_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The record of one prompt as it is kept."""

    id: UUID
    level: int
    version: int | None
    month: date
    at: datetime
    model: str
    prompt_hash: str
    basis: bytes
    outcome: str


@dataclass(frozen=True, slots=True)
class QuestionRow:
    """A question that has no answer yet."""

    id: UUID
    entity_id: UUID
    question: str
    asked_by: str
    level: int
    asked_at: datetime


@dataclass(frozen=True, slots=True)
class AnsweredRow:
    """An answer that was given before."""

    markdown: str
    statements: list[JsonObject]
    citations: list[JsonObject]
    model: str


@dataclass(frozen=True, slots=True)
class Blob:
    """A text by its hash; `words` is None once it was forgotten."""

    hash: str
    words: str | None


def kept(tx: Transaction, record_id: UUID) -> dict[int, str]:
    """The fingerprints of the record's Pulses, by level."""
    return {row.level: row.fingerprint for row in tx.all(SQL["kept_pulses"], KeptRow, id=record_id)}


def keep_pulse(tx: Transaction, record_id: UUID, text: NewText) -> int:
    """The version that the text is."""
    version: int = tx.value(
        SQL["keep_pulse"], id=record_id, level=text.level, markdown=text.markdown, statements=jsonb(text.statements),
        citations=jsonb(text.citations), told_of=list(text.told_of), dropped=text.dropped,
        fingerprint=text.fingerprint, prompt_version=text.prompt_version, provider=text.provider, model=text.model,
        cost_usd=text.cost_usd, causes=jsonb(text.causes), marks=text.marks, read_at=text.read_at,
        generated_at=text.generated_at,
    )  # fmt: skip
    return version


def check_pulse(tx: Transaction, record_id: UUID, level: int, told_of: Sequence[str], read_at: datetime) -> None:
    tx.run(SQL["check_pulse"], id=record_id, level=level, told_of=list(told_of), read_at=read_at)


def drop_pulses(tx: Transaction, record_id: UUID, levels: Sequence[int]) -> None:
    """The record has Pulses of these levels and of no others."""
    tx.run(SQL["drop_pulses"], id=record_id, levels=list(levels))


def note_day(tx: Transaction, record_id: UUID, day: Day) -> None:
    tx.run(
        SQL["note_day"], id=record_id, day=day.day, regenerated=day.regenerated, skipped=day.skipped,
        coalesced=day.coalesced, failed=day.failed, cost_usd=day.cost_usd,
    )  # fmt: skip


def keep_ledger(tx: Transaction, row: NewLedger, version: int | None) -> None:
    """Texts are kept in the order of their hashes, so that two who keep the same ones do not wait for each other."""
    tx.run(
        SQL["keep_ledger"], id=row.id, entity_id=row.entity_id, level=row.level, version=version, at=row.at,
        model=row.model, prompt_hash=row.prompt_hash, basis=row.basis, told_of=list(row.told_of),
        question_id=row.question_id, outcome=row.outcome, hashes=sorted(row.words),
        texts=[row.words[one] for one in sorted(row.words)],
    )  # fmt: skip


def ledger(tx: Transaction, record_id: UUID, level: int, version: int | None) -> LedgerRow | None:
    return tx.first(SQL["ledger"], LedgerRow, entity_id=record_id, level=level, version=version)


def words(tx: Transaction, month: date, hashes: Sequence[str]) -> dict[str, str]:
    """The texts of those hashes; those that were forgotten are missing."""
    found = tx.all(SQL["ledger_words"], Blob, month=month, hashes=list(hashes))
    return {one.hash: one.words for one in found if one.words is not None}


def question(tx: Transaction, question_id: UUID) -> QuestionRow | None:
    return tx.first(SQL["question"], QuestionRow, id=question_id)


def answered_before(tx: Transaction, asked: QuestionRow, fingerprint: str) -> AnsweredRow | None:
    return tx.first(
        SQL["answered_before"], AnsweredRow, entity_id=asked.entity_id, by=asked.asked_by, level=asked.level,
        fingerprint=fingerprint,
    )  # fmt: skip


def answer_question(
    tx: Transaction, question_id: UUID, answer: AnsweredRow, *, told_of: Sequence[str], fingerprint: str,
    cost_usd: Decimal, problem: str | None, now: datetime,
) -> bool:  # fmt: skip
    """False when it has its answer already."""
    return tx.run(
        SQL["answer_question"], id=question_id, markdown=answer.markdown, statements=jsonb(answer.statements),
        citations=jsonb(answer.citations), model=answer.model, told_of=list(told_of), fingerprint=fingerprint,
        cost_usd=cost_usd, problem=problem, now=now,
    ) > 0  # fmt: skip
