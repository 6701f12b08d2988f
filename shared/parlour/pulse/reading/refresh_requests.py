"""A refresh that somebody asks for: it waits for no window, and may carry a question, whose answer is theirs alone."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.pulse.pulse import MAX_QUESTION_CHARS, Citation, PulseJob
from parlour.pulse.reading import pulse_view, store
from parlour.records import crud, staleness, type_registry
from parlour.records.record import RecordRef


@dataclass(frozen=True, slots=True)
class PulseRequest:
    """What is to be sent to the Pulse queue once the transaction is committed, and of which record it is."""

    handle: str
    job: PulseJob


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


def read_answer(principal: Principal, tx: Transaction, ref: RecordRef, question_id: UUID) -> JsonObject:
    """Return a question that the principal asked, and its answer once it has one.

    {"id", "question", "asked_at", "answered_at", "markdown", "citations", "model", "cost_usd", "problem",
    "is_withheld"}. NotFound for anybody else's.
    """
    entity = crud.get_record(principal, tx, ref)
    row = store.find_answer(tx, entity.id, question_id, asked_by=principal.name, clearance=principal.clearance)
    if row is None:
        raise NotFound("question not found")
    cited = list(map(Citation.from_json, row.citations))
    links = pulse_view.citation_links(principal, tx, cited)
    told: list[Json] = [{**one.to_json(), "link": links.get(one.source_id)} for one in cited]
    return {
        "id": str(row.id),
        "question": row.question,
        "asked_at": row.asked_at.isoformat(),
        "answered_at": row.answered_at.isoformat() if row.answered_at else None,
        "markdown": row.markdown,
        "citations": told,
        "model": row.model,
        "cost_usd": f"{row.cost_usd:f}",
        "problem": row.problem,
        "is_withheld": not row.is_visible,
    }
