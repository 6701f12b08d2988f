"""Pulses in the database, as they are written."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction, jsonb
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class FingerprintRow:
    """What a Pulse was written from."""

    level: int
    fingerprint: str


@dataclass(frozen=True, slots=True)
class NewPulseText:
    """A text that a Pulse gets. causes: `{"cause", "since"}`, what it was written for; marks: how many of them."""

    level: int
    markdown: str
    statements: Sequence[JsonObject]
    citations: Sequence[JsonObject]
    source_ids: Sequence[str]
    rejected_statements: JsonObject
    fingerprint: str
    prompt_version: str
    provider: str
    model: str
    cost_usd: Decimal
    causes: Sequence[JsonObject]
    mark_count: int
    sources_read_at: datetime
    generated_at: datetime


@dataclass(frozen=True, slots=True)
class PulseDayDelta:
    """What one look of a writer adds to a record's day."""

    day: date
    regenerated: int = 0
    skipped: int = 0
    coalesced: int = 0
    failed: int = 0
    cost_usd: Decimal = Decimal()


@dataclass(frozen=True, slots=True)
class NewPulseLedger:
    """The record of one prompt, packed, its words apart: `words` by their hashes."""

    id: UUID
    entity_id: UUID
    level: int
    created_at: datetime
    model: str
    prompt_hash: str
    prompt_inputs: bytes
    texts_by_hash: Mapping[str, str]
    source_ids: Sequence[str]
    outcome: str
    question_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class PulseLedgerRow:
    """The record of one prompt as it is kept."""

    id: UUID
    level: int
    version: int | None
    month: date
    created_at: datetime
    model: str
    prompt_hash: str
    prompt_inputs: bytes
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
class AnswerContent:
    """An answer that was given before."""

    markdown: str
    statements: list[JsonObject]
    citations: list[JsonObject]
    model: str


@dataclass(frozen=True, slots=True)
class LedgerTextRow:
    """A text by its hash; `words` is None once it was forgotten."""

    hash: str
    text: str | None


def read_fingerprints(tx: Transaction, record_id: UUID) -> dict[int, str]:
    """Return the fingerprints of the record's Pulses, by level."""
    return {row.level: row.fingerprint for row in tx.all(SQL["read_fingerprints"], FingerprintRow, id=record_id)}


def add_pulse_text(tx: Transaction, record_id: UUID, text: NewPulseText) -> int:
    """Add the text and return its version."""
    version: int = tx.value(
        SQL["add_pulse_text"],
        id=record_id,
        level=text.level,
        markdown=text.markdown,
        statements=jsonb(text.statements),
        citations=jsonb(text.citations),
        told_of=list(text.source_ids),
        dropped=text.rejected_statements,
        fingerprint=text.fingerprint,
        prompt_version=text.prompt_version,
        provider=text.provider,
        model=text.model,
        cost_usd=text.cost_usd,
        causes=jsonb(text.causes),
        marks=text.mark_count,
        read_at=text.sources_read_at,
        generated_at=text.generated_at,
    )
    return version


def mark_checked(tx: Transaction, record_id: UUID, level: int, source_ids: Sequence[str], checked_at: datetime) -> None:
    tx.run(SQL["mark_checked"], id=record_id, level=level, told_of=list(source_ids), read_at=checked_at)


def delete_other_levels(tx: Transaction, record_id: UUID, levels: Sequence[int]) -> None:
    """Delete the record's Pulses of all other levels."""
    tx.run(SQL["delete_other_levels"], id=record_id, levels=list(levels))


def add_to_day(tx: Transaction, record_id: UUID, day: PulseDayDelta) -> None:
    tx.run(
        SQL["add_to_day"],
        id=record_id,
        day=day.day,
        regenerated=day.regenerated,
        skipped=day.skipped,
        coalesced=day.coalesced,
        failed=day.failed,
        cost_usd=day.cost_usd,
    )


def add_ledger(tx: Transaction, row: NewPulseLedger, version: int | None) -> None:
    """Texts are kept in the order of their hashes, so that two who keep the same ones do not wait for each other."""
    tx.run(
        SQL["add_ledger"],
        id=row.id,
        entity_id=row.entity_id,
        level=row.level,
        version=version,
        at=row.created_at,
        model=row.model,
        prompt_hash=row.prompt_hash,
        basis=row.prompt_inputs,
        told_of=list(row.source_ids),
        question_id=row.question_id,
        outcome=row.outcome,
        hashes=sorted(row.texts_by_hash),
        texts=[row.texts_by_hash[one] for one in sorted(row.texts_by_hash)],
    )


def find_ledger(tx: Transaction, record_id: UUID, level: int, version: int | None) -> PulseLedgerRow | None:
    return tx.first(SQL["find_ledger"], PulseLedgerRow, entity_id=record_id, level=level, version=version)


def read_ledger_texts(tx: Transaction, month: date, hashes: Sequence[str]) -> dict[str, str]:
    """Return the texts of those hashes; erased ones are missing."""
    found = tx.all(SQL["read_ledger_texts"], LedgerTextRow, month=month, hashes=list(hashes))
    return {one.hash: one.text for one in found if one.text is not None}


def find_open_question(tx: Transaction, question_id: UUID) -> QuestionRow | None:
    return tx.first(SQL["find_open_question"], QuestionRow, id=question_id)


def find_previous_answer(tx: Transaction, pulse_question: QuestionRow, fingerprint: str) -> AnswerContent | None:
    return tx.first(
        SQL["find_previous_answer"],
        AnswerContent,
        entity_id=pulse_question.entity_id,
        by=pulse_question.asked_by,
        level=pulse_question.level,
        fingerprint=fingerprint,
    )


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """An answer with the sources it was made from, or the code of the problem that left none."""

    answer: AnswerContent
    source_ids: Sequence[str]
    fingerprint: str
    cost_usd: Decimal
    problem: str | None


def complete_question(
    tx: Transaction,
    question_id: UUID,
    result: QuestionResult,
    now: datetime,
) -> bool:
    """Store what became of a question; False when it was answered before."""
    answer = result.answer
    return (
        tx.run(
            SQL["complete_question"],
            id=question_id,
            markdown=answer.markdown,
            statements=jsonb(answer.statements),
            citations=jsonb(answer.citations),
            model=answer.model,
            told_of=list(result.source_ids),
            fingerprint=result.fingerprint,
            cost_usd=result.cost_usd,
            problem=result.problem,
            now=now,
        )
        > 0
    )
