"""What somebody asked about a record with a refresh, answered from what its Pulse would be written from.

The answer is the asker's alone and never becomes the Pulse. It waits for no window, but for another worker that has the
record. Every error ends it: the asker is told why there is no answer.
"""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import LeaseHeld, Misconfigured, PromptOverflow
from parlour.infra.ids import uuid7
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.jobs.runner import LeasedJob
from parlour.principal import Principal, system_principal
from parlour.pulse.due import attempts
from parlour.pulse.material import source_material
from parlour.pulse.material.source_material import SourceMaterial
from parlour.pulse.pulse import PulseJob
from parlour.pulse.writing import level_draft, store
from parlour.pulse.writing.level_draft import LevelDraft, LevelOutcome, PulseDependencies
from parlour.pulse.writing.store import AnswerContent, PulseDayDelta, QuestionRow
from parlour.records import staleness

#: The purpose in an agent's model_routing.
_LARGE_MODEL_PURPOSE = "quality"

#: How long a question waits for those who have its record: longer than any one lease.
_MAX_LEASE_WAIT = timedelta(minutes=6)

_MAX_RETRY_SECONDS = 60
_NO_ANSWER = AnswerContent("", [], [], "")


@dataclass(frozen=True, slots=True)
class _QuestionInput:
    """A question, and what its answer is written from, as it was at `at`."""

    question: QuestionRow
    material: SourceMaterial
    loaded_at: datetime


@dataclass(frozen=True, slots=True)
class _AnswerResult:
    """What the asker is told, or why there is nothing to tell. outcome: of asking a model, if one was asked."""

    answer: AnswerContent
    problem: str | None
    answered_at: datetime
    draft: LevelDraft | None = None
    outcome: LevelOutcome | None = None
    ledger_id: UUID | None = None


@dataclass(slots=True)
class QuestionJob(LeasedJob[_QuestionInput, _AnswerResult, bool]):
    """The job of one question. `leased_until` identifies the lease of the Pulses of its record.

    previous_due_at  when these were due before the lease.
    was_stale        whether they were due because of a change.
    """

    dependencies: PulseDependencies
    job: PulseJob
    question_id: UUID
    leased_until: datetime
    previous_due_at: datetime | None = None
    was_stale: bool = False

    def begin(self, tx: Transaction) -> bool:
        """Lease the record's Pulses. Raises LeaseHeld while another worker has them; after too long the question ends
        without an answer."""
        now, record_id = self.dependencies.clock(), self.job.entity_id
        asked = store.find_open_question(tx, self.question_id)
        if asked is None or asked.entity_id != record_id:
            return False
        due, marks = work_due.find(tx, attempts.WORK_KIND, record_id), staleness.read_pending_changes(tx, record_id)
        if due and due.due_at != self.leased_until:
            self.previous_due_at = due.due_at
        self.was_stale = marks is not None and marks.since is not None
        if work_due.lease(tx, attempts.WORK_KIND, record_id, self.leased_until, now):
            return True
        leased_until = work_due.find_lease_end(tx, attempts.WORK_KIND, record_id) or now
        if now - asked.asked_at < _MAX_LEASE_WAIT:
            raise LeaseHeld(retry_after=min(math.ceil((leased_until - now).total_seconds()), _MAX_RETRY_SECONDS))
        self._complete(tx, _AnswerResult(_NO_ANSWER, LeaseHeld.code, now))
        return False

    def load(self, tx: Transaction) -> _QuestionInput | None:
        """Read what the answer is written from; end the question when the asker may not see the record any more."""
        at, asked = self.dependencies.clock(), store.find_open_question(tx, self.question_id)
        if asked is None:
            self.release(tx)
            return None
        about = source_material.find_subject(tx, asked.entity_id)
        if about is None or about.classification > asked.level or not about.record_type.settings.has_pulses:
            self._complete(tx, _AnswerResult(_NO_ANSWER, "not_found", at))
            return None
        material = source_material.read_material(tx, about, asked.level, at, self.job.tenant_id, asked.question)
        return _QuestionInput(asked, material, at)

    def ask(self, loaded: _QuestionInput, seconds_left: SecondsLeft) -> _AnswerResult:
        """Compare with what was asked before, and ask a model when that is different."""
        services, asked, models = self.dependencies, loaded.question, self.dependencies.models()
        try:
            chosen = level_draft.model_choices(loaded.material.subject, _LARGE_MODEL_PURPOSE, models)
            made = level_draft.draft_level(loaded.material, chosen, loaded.loaded_at, asked.question, asked.id)
        except (Misconfigured, PromptOverflow) as problem:
            return _AnswerResult(_NO_ANSWER, problem.code, services.clock())
        before = services.database.run(
            self._principal, lambda tx: store.find_previous_answer(tx, asked, made.fingerprint)
        )
        if before is not None:
            return _AnswerResult(before, None, services.clock(), made)
        outcome = level_draft.write_draft(services, self._principal, made, models, seconds_left)
        now = services.clock()
        return _AnswerResult(_answer_row(outcome), outcome.problem or None, now, made, outcome, uuid7(now))

    def commit(self, tx: Transaction, _loaded: _QuestionInput, answer: _AnswerResult) -> bool:
        """Write the answer, or why there is none, whoever has the record by now."""
        self._complete(tx, answer)
        return True

    def fail(self, tx: Transaction, code: str) -> int:
        """End the question without an answer."""
        self._complete(tx, _AnswerResult(_NO_ANSWER, code, self.dependencies.clock()))
        return 0

    def release(self, tx: Transaction) -> None:
        """End the lease: the record is due when it was before, or for what came up meanwhile. Transactions that mark it
        just now wait, and find it released."""
        record_id = self.job.entity_id
        if not work_due.lock_leased(tx, attempts.WORK_KIND, record_id, self.leased_until):
            return
        marks = staleness.read_pending_changes(tx, record_id)
        times = [self.previous_due_at] if self.previous_due_at else []
        if marks and marks.since and (not times or not self.was_stale or "manual" in marks.causes):
            times += [marks.since]
        if not times and store.read_fingerprints(tx, record_id):
            times = [self.dependencies.clock() + self.dependencies.max_age]
        if times:
            work_due.release(tx, attempts.WORK_KIND, record_id, self.leased_until, min(times))
        else:
            work_due.complete(tx, attempts.WORK_KIND, record_id)

    @property
    def _principal(self) -> Principal:
        return system_principal(self.job.tenant_id)

    def _complete(self, tx: Transaction, answer: _AnswerResult) -> None:
        made, outcome = answer.draft, answer.outcome
        cost = outcome.cost_usd if outcome else Decimal()
        is_new = store.complete_question(
            tx,
            self.question_id,
            store.QuestionResult(
                answer.answer,
                made.pulse_prompt.source_ids if made else (),
                made.fingerprint if made else "",
                cost,
                answer.problem,
            ),
            answer.answered_at,
        )
        if is_new and outcome is not None and answer.ledger_id is not None:
            store.add_to_day(
                tx, self.job.entity_id, PulseDayDelta(answer.answered_at.astimezone(UTC).date(), cost_usd=cost)
            )
            store.add_ledger(tx, outcome.to_ledger(answer.ledger_id), None)
        self.release(tx)
        if answer.problem:
            ids = {"tenant_id": self.job.tenant_id, "question_id": self.question_id}
            log.warning("pulse_question_failed", code=answer.problem, **ids)


def _answer_row(outcome: LevelOutcome) -> AnswerContent:
    if outcome.rendered is None or outcome.model_choice is None:
        return _NO_ANSWER
    return AnswerContent(
        outcome.rendered.markdown,
        [statement.to_json() for statement in outcome.rendered.statements],
        [citation.to_json() for citation in outcome.rendered.citations],
        outcome.model_choice.model,
    )
