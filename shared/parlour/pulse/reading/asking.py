"""A refresh that somebody asks for: it waits for no window, and may carry a question, whose answer is theirs alone."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.jsonable import Json, JsonObject
from parlour.infra.postgres import Transaction
from parlour.knowledge.records import entities, registry, stale
from parlour.knowledge.records.record import Ref
from parlour.principal import Principal
from parlour.pulse.pulse import LONGEST_QUESTION, Citation, Order
from parlour.pulse.reading import read, store


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be sent to the Pulse queue once the transaction is committed, and of which record it is."""

    handle: str
    order: Order


def refresh(principal: Principal, tx: Transaction, ref: Ref, question: str, question_id: UUID, now: datetime) -> Asked:
    """Have the record's Pulses written now, or `question` answered from what they would be written from.

    A question leaves the Pulses as they are. NotFound when there is no such record for the principal, or its kind has
    no Pulses; InvalidRequest for a question that is too long.
    """
    entity = entities.read(principal, tx, ref)
    if not registry.definition(tx, entity.type).settings.pulse:
        raise NotFound(f"{entity.handle} has no Pulse: its kind does not say `pulse: auto`")
    asked = " ".join(question.replace("\0", " ").encode("utf-8", "ignore").decode().split())
    if len(asked) > LONGEST_QUESTION:
        raise InvalidRequest(f"question: say it in {LONGEST_QUESTION} characters at most")
    if not asked:
        stale.ask(tx, entity.id, now)
        return Asked(entity.handle, Order(principal.tenant_id, entity.id))
    store.ask(tx, entity.id, question_id, asked, by=principal.name, clearance=principal.clearance, now=now)
    return Asked(entity.handle, Order(principal.tenant_id, entity.id, question_id))


def answer(principal: Principal, tx: Transaction, ref: Ref, question_id: UUID) -> JsonObject:
    """A question that the principal asked, and its answer once it has one.

    {"id", "question", "asked_at", "answered_at", "markdown", "citations", "model", "cost_usd", "problem", "withheld"}.
    NotFound for anybody else's.
    """
    entity = entities.read(principal, tx, ref)
    row = store.answer(tx, entity.id, question_id, by=principal.name, clearance=principal.clearance)
    if row is None:
        raise NotFound("there is no such question of yours")
    cited = list(map(Citation.from_json, row.citations))
    links = read.links(principal, tx, cited)
    told: list[Json] = [{**one.to_json(), "link": links.get(one.row)} for one in cited]
    return {
        "id": str(row.id), "question": row.question, "asked_at": row.asked_at.isoformat(),
        "answered_at": row.answered_at.isoformat() if row.answered_at else None, "markdown": row.markdown,
        "citations": told, "model": row.model, "cost_usd": f"{row.cost_usd:f}", "problem": row.problem,
        "withheld": not row.is_open,
    }  # fmt: skip
