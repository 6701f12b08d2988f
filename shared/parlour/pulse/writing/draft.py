"""One level's prompt, and what came of asking a model with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.context import prompt_record
from parlour.infra import log
from parlour.infra.errors import Misconfigured
from parlour.infra.ids import NewId
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Database, SecondsLeft, Transaction
from parlour.models.aside import Aside, Asking
from parlour.models.request import Model, ModelRequest
from parlour.models.route import OFFLINE, Choice, available, choose
from parlour.principal import Principal
from parlour.pulse import extractive, prompt
from parlour.pulse.due import budget
from parlour.pulse.fingerprint import fingerprint
from parlour.pulse.markdown import Written, write
from parlour.pulse.material import assembled
from parlour.pulse.material.assembled import LONGEST_ANSWER, Prompted
from parlour.pulse.material.documents import Document, documents
from parlour.pulse.material.gather import Gathered, Subject
from parlour.pulse.statements import Unusable, check
from parlour.pulse.writing.store import NewLedger

_SECONDS = 60.0
_SECONDS_KEPT = 20.0
"""What is left of an invocation to write down what came of it."""


@dataclass(frozen=True, slots=True)
class Services:
    """What writing runs with; `models` is asked for anew each time, for keys change.

    pulse_cap  of a tenant without a Pulse budget of its own; age: after which a Pulse is compared anew.
    ended      called with the tenant once a writing has ended: somebody has to look at what is due next.
    """

    database: Database
    models: Callable[[], Mapping[str, Model]]
    default_cap: Decimal
    pulse_cap: Decimal
    age: timedelta
    ended: Callable[[UUID], None]
    clock: Callable[[], datetime]
    new_id: NewId
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]


@dataclass(frozen=True, slots=True)
class Draft:
    """A prompt before it is asked. candidates: everything that might have stood in it."""

    about: Subject
    level: int
    prompted: Prompted
    candidates: tuple[Document, ...]
    choices: Sequence[Choice]
    prompt_version: str
    fingerprint: str
    question_id: UUID | None = None

    @property
    def documents(self) -> dict[int, Document]:
        """What stands in it, by number."""
        return {one.number: one for one in self.prompted.documents}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of asking: a text, or the code of the problem.

    cost_usd  of all tries; for_money: there was no room in a budget.
    """

    draft: Draft
    at: datetime
    written: Written | None = None
    dropped: JsonObject = field(default_factory=dict)
    answered: Choice | None = None
    cost_usd: Decimal = Decimal()
    problem: str = ""

    @property
    def for_money(self) -> bool:
        return self.problem == "spend_cap"

    def ledger(self, ledger_id: UUID) -> NewLedger:
        """The record of the prompt."""
        draft = self.draft
        basis, words = prompt_record.dump(draft.prompted.inputs)
        told_of = dict.fromkeys(one for document in draft.candidates for one in document.told_of)
        return NewLedger(
            ledger_id, draft.about.id, draft.level, self.at, _named(self.answered or draft.choices[0]),
            draft.prompted.assembled.prompt.hash, basis, words, tuple(told_of), self.problem or "written",
            draft.question_id,
        )  # fmt: skip


def choices(about: Subject, purpose: str, models: Mapping[str, Model]) -> list[Choice]:
    """The models that are asked about the record; Misconfigured when the tenant's agents have none that is there."""
    return available(choose(about.routing, purpose) if about.routing else [], models)


def draft(
    found: Gathered, chosen: Sequence[Choice], now: datetime, question: str = "", question_id: UUID | None = None
) -> Draft:
    """The prompt for one level. PromptOverflow when the instructions leave no room for the record."""
    if not chosen:
        raise Misconfigured("no agent of this tenant says which model is asked: give one a model_routing")
    about, model = found.subject, _named(chosen[0])
    told = prompt.instructions(about.kind, answers=bool(question))
    candidates = documents(found)
    prompted = assembled.prompt(
        f"{about.name} ({about.handle})",
        told,
        prompt.words(about.handle, question),
        candidates,
        found.level,
        model,
        now,
    )
    version = prompt.version(told)
    print_of = fingerprint(
        prompted.documents, about.properties, prompt_version=version, model=model, level=found.level, question=question
    )
    return Draft(about, found.level, prompted, candidates, chosen, version, print_of, question_id)


def ask(
    services: Services, principal: Principal, made: Draft, models: Mapping[str, Model], seconds_left: SecondsLeft
) -> Outcome:
    """Have the text written, and hold it against its sources. Raises a RetryError only for the database."""
    if made.choices[0].provider == OFFLINE:
        quoted = extractive.answer(made.prompted.documents)
        return _checked(made, quoted, services.clock(), made.choices[0], Decimal(), extractive.NOTE)
    sent = made.prompted.assembled.prompt
    request = ModelRequest(made.choices[0].model, LONGEST_ANSWER, sent.tools, sent.system, sent.messages)
    read = sum(made.prompted.assembled.tokens_by_layer.values())
    asking = Asking(
        request, read, made.choices, models, budget.PURPOSE, min(_SECONDS, seconds_left() - _SECONDS_KEPT),
        lambda tx, amount, reservation, now: _admit(services, tx, amount, reservation, now),
    )  # fmt: skip
    answer = _aside(services).ask(principal, asking)
    at = services.clock()
    if answer.problem is not None or answer.completed is None or answer.choice is None:
        code = answer.problem.code if answer.problem else "provider_unavailable"
        return Outcome(made, at, cost_usd=answer.cost_usd, problem=code)
    if answer.completed.stop_reason == "refusal":
        return Outcome(made, at, answered=answer.choice, cost_usd=answer.cost_usd, problem="refused")
    return _checked(made, answer.text, at, answer.choice, answer.cost_usd)


def _checked(made: Draft, text: str, at: datetime, by: Choice, cost: Decimal, note: str = "") -> Outcome:
    try:
        checked = check(text, made.documents)
    except Unusable as problem:
        return Outcome(made, at, answered=by, cost_usd=cost, problem=problem.code)
    if checked.dropped:
        log.info("pulse_statements_dropped", entity_id=made.about.id, **_numbers(checked.dropped))
    return Outcome(made, at, write(checked.statements, made.documents, note), checked.dropped, by, cost)


def _numbers(dropped: JsonObject) -> dict[str, int]:
    return {reason: count for reason, count in dropped.items() if isinstance(count, int)}


def _admit(services: Services, tx: Transaction, amount: Decimal, reservation: UUID, now: datetime) -> None:
    budget.admit(tx, amount, services.pulse_cap, now, reservation)


def _aside(services: Services) -> Aside:
    return Aside(
        services.database, services.default_cap, services.clock, services.new_id, services.sleep, services.jitter
    )


def _named(choice: Choice) -> str:
    return f"{choice.provider}/{choice.model}"
