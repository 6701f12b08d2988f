"""A refresh that somebody asks for: it waits for no window, and may carry a question, whose answer is theirs alone."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.pulse.pulse import MAX_QUESTION_CHARS, Citation, LinkedCitation, PulseJob
from parlour.pulse.reading import pulse_view, store
from parlour.pulse.reading.store import AnswerRow
from parlour.records import crud, staleness, type_registry
from parlour.records.record import RecordRef


@dataclass(frozen=True, slots=True)
class PulseRequest:
    """What is to be sent to the Pulse queue once the transaction is committed, and of which record it is."""

    handle: str
    job: PulseJob


@dataclass(frozen=True, slots=True)
class QuestionAnswer:
    """A question and its answer, with links to what it cites."""

    row: AnswerRow
    citations: tuple[LinkedCitation, ...]


def request_refresh(
    principal: Principal, tx: Transaction, ref: RecordRef, question: str, question_id: UUID, now: datetime
) -> PulseRequest:
    """Have the record's Pulses written now, or `question` answered from what they would be written from.

    A question leaves the Pulses as they are. NotFound when there is no such record for the principal, or its kind has
    no Pulses; InvalidRequest for a question that is too long.
    """
    entity = crud.get_record(principal, tx, ref)
    if not type_registry.get_record_type(tx, entity.type).settings.has_pulses:
        raise NotFound(f"{entity.handle} has no Pulse: its type does not set `pulse: auto`")
    asked = " ".join(question.replace("\0", " ").encode("utf-8", "ignore").decode().split())
    if len(asked) > MAX_QUESTION_CHARS:
        raise InvalidRequest(f"question: use at most {MAX_QUESTION_CHARS} characters")
    if not asked:
        staleness.request_refresh(tx, entity.id, now)
        return PulseRequest(entity.handle, PulseJob(principal.tenant_id, entity.id))
    store.add_question(
        tx, entity.id, question_id, asked, asked_by=principal.name, clearance=principal.clearance, now=now
    )
    return PulseRequest(entity.handle, PulseJob(principal.tenant_id, entity.id, question_id))


def read_answer(principal: Principal, tx: Transaction, ref: RecordRef, question_id: UUID) -> QuestionAnswer:
    """Return a question that the principal asked, and its answer once it has one. NotFound for other askers."""
    entity = crud.get_record(principal, tx, ref)
    row = store.find_answer(tx, entity.id, question_id, asked_by=principal.name, clearance=principal.clearance)
    if row is None:
        raise NotFound("question not found")
    return QuestionAnswer(row, pulse_view.link_citations(principal, tx, list(map(Citation.from_json, row.citations))))
