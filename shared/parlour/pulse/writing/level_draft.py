"""One level's prompt, and what came of asking a model with it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, SecondsLeft
from parlour.models.background_completion import BackgroundCompletion, CompletionRequest
from parlour.models.model import Model, ModelRequest
from parlour.models.model_routing import DEMO_PROVIDER, OFFLINE_PROVIDER, ModelChoice, choose_models, filter_available
from parlour.principal import Principal
from parlour.prompts.ledger import prompt_record
from parlour.pulse.due import budget
from parlour.pulse.material import prompt_assembly
from parlour.pulse.material.numbered_sources import NumberedSource, number_sources
from parlour.pulse.material.prompt_assembly import MAX_ANSWER_TOKENS, PulsePrompt
from parlour.pulse.material.source_material import PulseSubject, SourceMaterial
from parlour.pulse.writing import offline_answer, prompt
from parlour.pulse.writing.fingerprint import fingerprint
from parlour.pulse.writing.pulse_markdown import RenderedPulse, render_pulse
from parlour.pulse.writing.statement_check import InvalidModelAnswer, check_statements
from parlour.pulse.writing.store import NewPulseLedger

_MODEL_TIMEOUT_SECONDS = 60.0
_COMMIT_SECONDS = 20.0
"""What is left of an invocation to write down what came of it."""


@dataclass(frozen=True, slots=True)
class PulseDependencies:
    """The dependencies of writing; `models` is called each time, because keys change.

    default_pulse_cap  the cap of a tenant without a Pulse budget of its own.
    max_age            the age after which a Pulse is compared again.
    on_written         called with the tenant after a writing has ended, to check what is due next.
    """

    database: Database
    models: Callable[[], Mapping[str, Model]]
    default_cap: Decimal
    default_pulse_cap: Decimal
    max_age: timedelta
    on_written: Callable[[UUID], None]
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    jitter: Callable[[float, float], float]


@dataclass(frozen=True, slots=True)
class LevelDraft:
    """A prompt before it is asked. candidates: everything that might have stood in it."""

    subject: PulseSubject
    level: int
    pulse_prompt: PulsePrompt
    candidates: tuple[NumberedSource, ...]
    model_choices: Sequence[ModelChoice]
    prompt_version: str
    fingerprint: str
    question_id: UUID | None = None

    @property
    def sources_by_number(self) -> dict[int, NumberedSource]:
        """What stands in it, by number."""
        return {one.number: one for one in self.pulse_prompt.documents}


@dataclass(frozen=True, slots=True)
class LevelOutcome:
    """What came of asking: a text, or the code of the problem.

    cost_usd  of all tries; for_money: there was no room in a budget.
    """

    draft: LevelDraft
    ended_at: datetime
    rendered: RenderedPulse | None = None
    rejected_statements: JsonObject = field(default_factory=dict)
    model_choice: ModelChoice | None = None
    cost_usd: Decimal = Decimal()
    problem: str = ""

    @property
    def is_over_budget(self) -> bool:
        return self.problem == "spend_cap"

    def to_ledger(self, ledger_id: UUID) -> NewPulseLedger:
        """Return the record of the prompt."""
        draft = self.draft
        basis, words = prompt_record.serialize_part(draft.pulse_prompt.inputs)
        told_of = dict.fromkeys(one for document in draft.candidates for one in document.source_ids)
        return NewPulseLedger(
            ledger_id,
            draft.subject.id,
            draft.level,
            self.ended_at,
            _model_name(self.model_choice or draft.model_choices[0]),
            draft.pulse_prompt.assembled.prompt.hash,
            basis,
            words,
            tuple(told_of),
            self.problem or "written",
            draft.question_id,
        )


def model_choices(subject: PulseSubject, purpose: str, models: Mapping[str, Model]) -> list[ModelChoice]:
    """Return the models for the record; Misconfigured when none of the tenant's agents' models is available."""
    if not subject.model_routing:
        return filter_available([], models)
    # An agent loop writes no Pulses, so even `default` is asked for as background work.
    background = "background" if purpose == "default" else purpose
    return filter_available(choose_models(subject.model_routing, background), models)


def draft_level(
    material: SourceMaterial,
    available_models: Sequence[ModelChoice],
    now: datetime,
    question: str = "",
    question_id: UUID | None = None,
) -> LevelDraft:
    """Draft the prompt for one level. PromptOverflow when the instructions leave no room for the record."""
    if not available_models:
        raise Misconfigured("no agent of this tenant says which model is asked: give one a model_routing")
    about, model = material.subject, _model_name(available_models[0])
    told = prompt.system_prompt(about.record_type, is_question=bool(question))
    candidates = number_sources(material)
    prompted = prompt_assembly.assemble_prompt(
        f"{about.name} ({about.handle})",
        told,
        prompt.user_text(about.handle, question),
        candidates,
        material.level,
        model,
        now,
    )
    version = prompt.prompt_version(told)
    print_of = fingerprint(
        prompted.documents,
        about.properties,
        prompt_version=version,
        model=model,
        level=material.level,
        question=question,
    )
    return LevelDraft(about, material.level, prompted, candidates, available_models, version, print_of, question_id)


def write_draft(
    dependencies: PulseDependencies,
    principal: Principal,
    level_draft: LevelDraft,
    models: Mapping[str, Model],
    seconds_left: SecondsLeft,
) -> LevelOutcome:
    """Have the text written, and hold it against its sources. Raises a RetryError only for the database."""
    provider = level_draft.model_choices[0].provider
    if provider == OFFLINE_PROVIDER:
        return _quote_material(level_draft, dependencies.clock())
    sent = level_draft.pulse_prompt.assembled.prompt
    request = ModelRequest(
        level_draft.model_choices[0].model, MAX_ANSWER_TOKENS, sent.tools, sent.system, sent.messages
    )
    read = sum(level_draft.pulse_prompt.assembled.tokens_by_layer.values())
    asking = CompletionRequest(
        request,
        read,
        level_draft.model_choices,
        models,
        budget.PULSE_PURPOSE,
        min(_MODEL_TIMEOUT_SECONDS, seconds_left() - _COMMIT_SECONDS),
        lambda tx, amount, reservation, now: budget.check_budget(
            tx, amount, dependencies.default_pulse_cap, now, reservation
        ),
    )
    answer = BackgroundCompletion(
        dependencies.database, dependencies.default_cap, dependencies.clock, dependencies.sleep, dependencies.jitter
    ).ask(principal, asking)
    at = dependencies.clock()
    if provider == DEMO_PROVIDER and isinstance(answer.problem, ProviderRejected):
        return _quote_material(level_draft, at)
    if answer.problem is not None or answer.completion is None or answer.choice is None:
        code = answer.problem.code if answer.problem else "provider_unavailable"
        return LevelOutcome(level_draft, at, cost_usd=answer.cost_usd, problem=code)
    if answer.completion.stop_reason == "refusal":
        return LevelOutcome(level_draft, at, model_choice=answer.choice, cost_usd=answer.cost_usd, problem="refused")
    return _check_answer(level_draft, answer.text, at, answer.choice, answer.cost_usd)


def _quote_material(level_draft: LevelDraft, ended_at: datetime) -> LevelOutcome:
    """Return the Pulse that the offline model writes."""
    quoted = offline_answer.offline_answer(level_draft.pulse_prompt.documents)
    choice, note = level_draft.model_choices[0], offline_answer.OFFLINE_NOTE
    return _check_answer(level_draft, quoted, ended_at, choice, Decimal(), note)


def _check_answer(
    level_draft: LevelDraft, text: str, ended_at: datetime, model_choice: ModelChoice, cost_usd: Decimal, note: str = ""
) -> LevelOutcome:
    try:
        checked = check_statements(text, level_draft.sources_by_number)
    except InvalidModelAnswer as problem:
        return LevelOutcome(level_draft, ended_at, model_choice=model_choice, cost_usd=cost_usd, problem=problem.code)
    if checked.rejected:
        log.info(
            "pulse_statements_rejected",
            entity_id=level_draft.subject.id,
            **{reason: count for reason, count in checked.rejected.items() if isinstance(count, int)},
        )
    return LevelOutcome(
        level_draft,
        ended_at,
        render_pulse(checked.statements, level_draft.sources_by_number, note),
        checked.rejected,
        model_choice,
        cost_usd,
    )


def _model_name(choice: ModelChoice) -> str:
    return f"{choice.provider}/{choice.model}"
