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
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.jobs.runner import Job
from parlour.knowledge.records import stale
from parlour.principal import Principal, system
from parlour.pulse.due import ending
from parlour.pulse.material import gather
from parlour.pulse.material.gather import Gathered
from parlour.pulse.pulse import Order
from parlour.pulse.writing import draft, store
from parlour.pulse.writing.draft import Draft, Outcome, Services
from parlour.pulse.writing.store import AnsweredRow, Day, QuestionRow

#: The purpose in an agent's model_routing.
_LARGER = "quality"

#: How long a question waits for those who have its record: longer than any one lease.
_PATIENCE = timedelta(minutes=6)

_SECONDS_BETWEEN = 60
_NOTHING = AnsweredRow("", [], [], "")


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A question, and what its answer is written from, as it was at `at`."""

    asked: QuestionRow
    gathered: Gathered
    at: datetime


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the asker is told, or why there is nothing to tell. outcome: of asking a model, if one was asked."""

    told: AnsweredRow
    problem: str | None
    at: datetime
    made: Draft | None = None
    outcome: Outcome | None = None
    ledger_id: UUID | None = None


@dataclass(slots=True)
class QuestionJob(Job[_Loaded, _Answer, bool]):
    """The job of one question. `until` identifies the lease of its record's Pulses.

    due_before  when these were due before the lease; was_stale: whether for a change.
    """

    services: Services
    order: Order
    question_id: UUID
    until: datetime
    due_before: datetime | None = None
    was_stale: bool = False

    def begin(self, tx: Transaction) -> bool:
        """Lease the record's Pulses. Raises LeaseHeld while another worker has them; after too long the question ends
        without an answer."""
        now, record_id = self.services.clock(), self.order.entity_id
        asked = store.question(tx, self.question_id)
        if asked is None or asked.entity_id != record_id:
            return False
        due, marks = work_due.find(tx, ending.KIND, record_id), stale.unreflected(tx, record_id)
        if due and due.due_at != self.until:
            self.due_before = due.due_at
        self.was_stale = marks is not None and marks.since is not None
        if work_due.lease(tx, ending.KIND, record_id, self.until, now):
            return True
        leased_until = work_due.leased_until(tx, ending.KIND, record_id) or now
        if now - asked.asked_at < _PATIENCE:
            raise LeaseHeld(after=min(math.ceil((leased_until - now).total_seconds()), _SECONDS_BETWEEN))
        self._end(tx, _Answer(_NOTHING, LeaseHeld.code, now))
        return False

    def load(self, tx: Transaction) -> _Loaded | None:
        """Read what the answer is written from; end the question when the asker may not see the record any more."""
        at, asked = self.services.clock(), store.question(tx, self.question_id)
        if asked is None:
            self.release(tx)
            return None
        about = gather.subject(tx, asked.entity_id)
        if about is None or about.level > asked.level or not about.kind.settings.pulse:
            self._end(tx, _Answer(_NOTHING, "not_found", at))
            return None
        return _Loaded(asked, gather.gather(tx, about, asked.level, at, self.order.tenant_id), at)

    def ask(self, loaded: _Loaded, seconds_left: SecondsLeft) -> _Answer:
        """Compare with what was asked before, and ask a model when that is different."""
        services, asked, models = self.services, loaded.asked, self.services.models()
        try:
            chosen = draft.choices(loaded.gathered.subject, _LARGER, models)
            made = draft.draft(loaded.gathered, chosen, loaded.at, asked.question, asked.id)
        except (Misconfigured, PromptOverflow) as problem:
            return _Answer(_NOTHING, problem.code, services.clock())
        before = services.database.run(self._principal, lambda tx: store.answered_before(tx, asked, made.fingerprint))
        if before is not None:
            return _Answer(before, None, services.clock(), made)
        outcome = draft.ask(services, self._principal, made, models, seconds_left)
        now = services.clock()
        return _Answer(_answered(outcome), outcome.problem or None, now, made, outcome, services.new_id(now))

    def commit(self, tx: Transaction, _loaded: _Loaded, answer: _Answer) -> bool:
        """Write the answer, or why there is none, whoever has the record by now."""
        self._end(tx, answer)
        return True

    def fail(self, tx: Transaction, code: str) -> int:
        """End the question without an answer."""
        self._end(tx, _Answer(_NOTHING, code, self.services.clock()))
        return 0

    def release(self, tx: Transaction) -> None:
        """End the lease: the record is due when it was before, or for what came up meanwhile. Transactions that mark it
        just now wait, and find it released."""
        record_id = self.order.entity_id
        if not work_due.lock(tx, ending.KIND, record_id, self.until):
            return
        marks = stale.unreflected(tx, record_id)
        times = [self.due_before] if self.due_before else []
        if marks and marks.since and (not times or not self.was_stale or "manual" in marks.causes):
            times += [marks.since]
        if not times and store.kept(tx, record_id):
            times = [self.services.clock() + self.services.age]
        if times:
            work_due.release(tx, ending.KIND, record_id, self.until, min(times))
        else:
            work_due.complete(tx, ending.KIND, record_id)

    @property
    def _principal(self) -> Principal:
        return system(self.order.tenant_id)

    def _end(self, tx: Transaction, answer: _Answer) -> None:
        made, outcome = answer.made, answer.outcome
        cost = outcome.cost_usd if outcome else Decimal()
        is_new = store.answer_question(
            tx,
            self.question_id,
            answer.told,
            told_of=made.prompted.told_of if made else (),
            fingerprint=made.fingerprint if made else "",
            cost_usd=cost,
            problem=answer.problem,
            now=answer.at,
        )
        if is_new and outcome is not None and answer.ledger_id is not None:
            store.note_day(tx, self.order.entity_id, Day(answer.at.astimezone(UTC).date(), cost_usd=cost))
            store.keep_ledger(tx, outcome.ledger(answer.ledger_id), None)
        self.release(tx)
        if answer.problem:
            ids = {"tenant_id": self.order.tenant_id, "question_id": self.question_id}
            log.warning("pulse_question_not_answered", code=answer.problem, **ids)


def _answered(outcome: Outcome) -> AnsweredRow:
    if outcome.written is None or outcome.answered is None:
        return _NOTHING
    return AnsweredRow(
        outcome.written.markdown,
        [statement.to_json() for statement in outcome.written.statements],
        [citation.to_json() for citation in outcome.written.citations],
        outcome.answered.model,
    )
