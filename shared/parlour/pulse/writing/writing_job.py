"""A record's Pulses, written again by a model only where what they are made of is different.

What is marked while the job runs stays marked. Whatever goes wrong with a model, the Pulses that there are stay as they
are, the reason is written down with the record, and the next attempt waits. The attempts are counted with the record's
state (`due/ending.py`): readers are told of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Misconfigured, PromptOverflow, SpendRefused
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner, work_due
from parlour.jobs.runner import LeasedJob
from parlour.models.model import Model
from parlour.principal import system_principal
from parlour.pulse.due import attempts
from parlour.pulse.material import source_material
from parlour.pulse.material.source_material import PulseSubject, SourceMaterial
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import level_draft, store
from parlour.pulse.writing.fingerprint import source_hashes
from parlour.pulse.writing.level_draft import LevelDraft, LevelOutcome, PulseDependencies
from parlour.pulse.writing.question_job import QuestionJob
from parlour.pulse.writing.store import NewPulseText, PulseDayDelta
from parlour.records import staleness
from parlour.records.built_in_types import CLOSED_CONVERSATION_STATES, CONVERSATION_TYPE
from parlour.records.staleness import PendingChanges

#: The purpose in an agent's model_routing, unless the record's kind names another.
_DEFAULT_MODEL_PURPOSE = "cheap"

#: Problems of the answer for one level; the next level is asked all the same.
_LEVEL_ERRORS = ("", "refused", "bad_json", "nothing_supported")


def run_pulse_job(dependencies: PulseDependencies, job: PulseJob, seconds_left: SecondsLeft) -> None:
    """Write the record's Pulses, or answer the question of the order.

    Raises a RetryError when the database is away or, for a question, while another worker has the record; the message
    comes again. Everything that is wrong with models is written down and is no error here.
    """
    until = dependencies.clock() + timedelta(seconds=seconds_left())
    principal, database = system_principal(job.tenant_id), dependencies.database
    if job.question_id is None:
        runner.run(PulseWritingJob(dependencies, job, until), database, principal, seconds_left)
    else:
        runner.run(QuestionJob(dependencies, job, job.question_id, until), database, principal, seconds_left)
    dependencies.on_written(job.tenant_id)


@dataclass(frozen=True, slots=True)
class _WritingInput:
    """Everything for one writing, as it was at `at`. kept: the fingerprints of the Pulses there are, by level."""

    loaded_at: datetime
    subject: PulseSubject
    pending_changes: PendingChanges
    materials: Sequence[SourceMaterial]
    fingerprints_by_level: Mapping[int, str]


@dataclass(slots=True)
class _WritingResult:
    """What became of the levels.

    levels        all that have a Pulse.
    unchanged     those whose sources did not change; a model was asked for the others.
    problem       why it stopped, "" if it did not.
    failed_level  the level that it stopped at.
    ledger_ids    one for each level that was asked: a commit may run twice.
    """

    ended_at: datetime
    levels: Sequence[int] = ()
    unchanged: list[LevelDraft] = field(default_factory=list)
    outcomes: list[LevelOutcome] = field(default_factory=list)
    problem: str = ""
    failed_level: int | None = None
    ledger_ids: Sequence[UUID] = ()

    @property
    def is_over_budget(self) -> bool:
        """Whether there was no room in a budget."""
        return self.problem == SpendRefused.code

    @property
    def cost_usd(self) -> Decimal:
        return sum((outcome.cost_usd for outcome in self.outcomes), Decimal())


@dataclass(frozen=True, slots=True)
class PulseWritingJob(LeasedJob[_WritingInput, _WritingResult, int]):
    """The job of one record's Pulses. `until` identifies its lease."""

    dependencies: PulseDependencies
    job: PulseJob
    leased_until: datetime

    def begin(self, tx: Transaction) -> bool:
        """Lease the record's Pulses, if somebody asks for them."""
        is_ours = attempts.lease(tx, self.job.entity_id, self.leased_until, self.dependencies.clock())
        if not is_ours:
            log.info("pulse_job_skipped", **self._log_ids())
        return is_ours

    def load(self, tx: Transaction) -> _WritingInput | None:
        """Read the marks, then what they are about: a mark that is made meanwhile is younger, and stays. Complete the
        work when the record has no Pulses any more."""
        at, record_id, tenant_id = self.dependencies.clock(), self.job.entity_id, self.job.tenant_id
        seen = staleness.read_pending_changes(tx, record_id)
        about = source_material.find_subject(tx, record_id)
        if seen is None or about is None or not has_pulses(about):
            attempts.drop(tx, record_id, self.leased_until, at)
            return None
        gathered = [
            source_material.read_material(tx, about, level, at, tenant_id)
            for level in source_material.find_levels(tx, about)
        ]
        return _WritingInput(at, about, seen, gathered, store.read_fingerprints(tx, record_id))

    def ask(self, loaded: _WritingInput, seconds_left: SecondsLeft) -> _WritingResult:
        """Ask a model for each level that is different, up to the first problem that is not of its text alone."""
        services, models = self.dependencies, self.dependencies.models()
        try:
            drafts = _draft_levels(loaded, models)
        except (Misconfigured, PromptOverflow) as problem:
            return _WritingResult(services.clock(), problem=problem.code)
        result = _WritingResult(loaded.loaded_at, [made.level for made in drafts])
        for made in drafts:
            if loaded.fingerprints_by_level.get(made.level) == made.fingerprint:
                result.unchanged.append(made)
                continue
            outcome = level_draft.write_draft(
                services, system_principal(self.job.tenant_id), made, models, seconds_left
            )
            result.outcomes.append(outcome)
            if outcome.problem and not result.problem:
                result.problem, result.failed_level = outcome.problem, made.level
            if outcome.problem not in _LEVEL_ERRORS:
                break
        result.ended_at = services.clock()
        result.ledger_ids = [uuid7(result.ended_at) for _ in result.outcomes]
        return result

    def commit(self, tx: Transaction, loaded: _WritingInput, result: _WritingResult) -> int | None:
        """Write the texts, those before a problem too, and when the record is looked at again. Return how many attempts
        in a row failed."""
        services, record_id, now = self.dependencies, self.job.entity_id, result.ended_at
        if not attempts.lock_lease(tx, record_id, self.leased_until):
            return None
        self._write_texts(tx, loaded, result)
        if not result.problem:
            store.delete_other_levels(tx, record_id, result.levels)
            answered = loaded.pending_changes.mark_count - loaded.pending_changes.reflected_mark_count
            success_day = PulseDayDelta(
                _utc_day(result.ended_at),
                regenerated=int(bool(result.outcomes)),
                skipped=int(not result.outcomes),
                coalesced=max(answered - 1, 0),
                cost_usd=result.cost_usd,
            )
            store.add_to_day(tx, record_id, success_day)
            window = timedelta(seconds=loaded.subject.record_type.settings.coalesce_seconds)
            attempts.record_success(
                tx,
                record_id,
                attempts.CurrentPulses(
                    loaded.pending_changes, loaded.loaded_at, result.cost_usd if result.outcomes else None
                ),
                self.leased_until,
                now,
                window=window,
                max_age=services.max_age,
            )
            left = staleness.read_pending_changes(tx, self.job.entity_id)
            if left is not None and "manual" in left.causes:
                work_due.schedule(tx, attempts.WORK_KIND, self.job.entity_id, now)
        elif result.is_over_budget:
            store.add_to_day(tx, record_id, PulseDayDelta(_utc_day(now), cost_usd=result.cost_usd))
            attempts.wait_for_budget(tx, record_id, self.leased_until, services.default_pulse_cap, now)
        else:
            store.add_to_day(tx, record_id, PulseDayDelta(_utc_day(now), failed=1, cost_usd=result.cost_usd))
            return attempts.record_failure(tx, record_id, result.problem, self.leased_until, now, result.failed_level)
        return 0

    def report(self, _loaded: _WritingInput, answer: _WritingResult, failures: int) -> bool:
        """Log what became of it. There is no further round."""
        if not answer.problem:
            log.info("pulse_written", levels=len(answer.levels), asked=len(answer.outcomes), **self._log_ids())
        elif not answer.is_over_budget:
            log.warning("pulse_writing_failed", code=answer.problem, **self._log_ids())
            self.report_failure(answer.problem, failures)
        return False

    def fail(self, tx: Transaction, code: str) -> int:
        """Count an attempt that broke, so that it is not repeated for ever."""
        now = self.dependencies.clock()
        if not attempts.lock_lease(tx, self.job.entity_id, self.leased_until):
            return 0
        store.add_to_day(tx, self.job.entity_id, PulseDayDelta(_utc_day(now), failed=1))
        return attempts.record_failure(tx, self.job.entity_id, code, self.leased_until, now)

    def report_failure(self, code: str, failures: int) -> None:
        """Tell operators after some failures in a row."""
        attempts.report_given_up(self.job.tenant_id, self.job.entity_id, code, failures)

    def release(self, tx: Transaction) -> None:
        """End the lease: the record is due at once."""
        work_due.release(tx, attempts.WORK_KIND, self.job.entity_id, self.leased_until, self.dependencies.clock())

    def _log_ids(self) -> dict[str, UUID]:
        return {"tenant_id": self.job.tenant_id, "entity_id": self.job.entity_id}

    def _write_texts(self, tx: Transaction, loaded: _WritingInput, result: _WritingResult) -> None:
        record_id = self.job.entity_id
        for made in result.unchanged:
            store.mark_checked(tx, record_id, made.level, made.pulse_prompt.source_ids, loaded.loaded_at)
        for outcome, ledger_id in zip(result.outcomes, result.ledger_ids, strict=True):
            text = _pulse_text(loaded, outcome)
            version = store.add_pulse_text(tx, record_id, text) if text else None
            if not outcome.is_over_budget:
                store.add_ledger(tx, outcome.to_ledger(ledger_id), version)


def has_pulses(subject: PulseSubject) -> bool:
    """Return whether the record's kind has Pulses, and the record is no conversation that was closed."""
    is_over = (
        subject.record_type.key == CONVERSATION_TYPE and subject.properties.get("state") in CLOSED_CONVERSATION_STATES
    )
    return subject.record_type.settings.has_pulses and not is_over


def _draft_levels(loaded: _WritingInput, models: Mapping[str, Model]) -> list[LevelDraft]:
    """Return a prompt for every level that has something of its own; another level has the text of the one below."""
    purpose = loaded.subject.record_type.settings.pulse_model or _DEFAULT_MODEL_PURPOSE
    chosen = level_draft.model_choices(loaded.subject, purpose, models)
    drafts: list[LevelDraft] = []
    for gathered in loaded.materials:
        made = level_draft.draft_level(gathered, chosen, loaded.loaded_at)
        if not drafts or source_hashes(drafts[-1].pulse_prompt.documents) != source_hashes(made.pulse_prompt.documents):
            drafts.append(made)
    return drafts


def _pulse_text(loaded: _WritingInput, outcome: LevelOutcome) -> NewPulseText | None:
    """Return the text as it is stored; None when there is none."""
    if outcome.rendered is None or outcome.model_choice is None:
        return None
    made, seen = outcome.draft, loaded.pending_changes
    causes: list[JsonObject] = [{"cause": cause, "since": since.isoformat()} for cause, since in seen.causes.items()]
    return NewPulseText(
        level=made.level,
        markdown=outcome.rendered.markdown,
        statements=[statement.to_json() for statement in outcome.rendered.statements],
        citations=[citation.to_json() for citation in outcome.rendered.citations],
        source_ids=made.pulse_prompt.source_ids,
        rejected_statements=outcome.rejected_statements,
        fingerprint=made.fingerprint,
        prompt_version=made.prompt_version,
        provider=outcome.model_choice.provider,
        model=outcome.model_choice.model,
        cost_usd=outcome.cost_usd,
        causes=causes,
        mark_count=seen.mark_count - seen.reflected_mark_count,
        sources_read_at=loaded.loaded_at,
        generated_at=outcome.ended_at,
    )


def _utc_day(now: datetime) -> date:
    return now.astimezone(UTC).date()
