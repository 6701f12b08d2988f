"""What somebody asked about a record with a refresh, answered from what its Pulse would be written from.

The answer is the asker's alone and never becomes the Pulse. It waits for no window, but for whoever is at the record.
"""

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import LeaseHeld, Misconfigured, PromptOverflow, RetryError
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from parlour.knowledge.records import stale
from parlour.models.request import Model
from parlour.principal import Principal, system
from parlour.pulse.due import ending
from parlour.pulse.material import gather
from parlour.pulse.material.gather import Gathered
from parlour.pulse.pulse import Order
from parlour.pulse.writing import draft, store
from parlour.pulse.writing.draft import Draft, Outcome, Services
from parlour.pulse.writing.store import AnsweredRow, Day, QuestionRow

_LARGER = "quality"
_PATIENCE = timedelta(minutes=6)
"""How long a question waits for those who are at its record: longer than any one of them is."""

_SECONDS_BETWEEN = 60
_NOTHING = AnsweredRow("", [], [], "")


def answer(services: Services, order: Order, question_id: UUID, seconds_left: SecondsLeft) -> None:
    """Answer the question, once. LeaseHeld while somebody else is at the record; if that is for too long, there is no
    answer, and the asker hears why."""
    now = services.clock()
    until = now + timedelta(seconds=seconds_left())
    principal = system(order.tenant_id)
    begun = services.database.run(
        principal, lambda tx: _begun(services, principal, tx, order.entity_id, question_id, until, now)
    )
    if begun is None:
        return
    work, held_until = begun
    if held_until is not None:
        if now - work.asked.asked_at < _PATIENCE:
            raise LeaseHeld(after=min(math.ceil((held_until - now).total_seconds()), _SECONDS_BETWEEN))
        work.keep(_NOTHING, LeaseHeld.code)
        return
    try:
        work.answer(seconds_left)
    except RetryError:
        with suppress(RetryError):
            services.database.run(principal, work.let_go)
        raise
    except Exception:
        work.keep(_NOTHING, "error")
        raise


def _begun(
    services: Services, principal: Principal, tx: Transaction, record_id: UUID, question_id: UUID, until: datetime,
    now: datetime,
) -> "tuple[_Work, datetime | None] | None":  # fmt: skip
    """The question, and until when somebody else is at the record, if anybody is; None when it is answered."""
    asked = store.question(tx, question_id)
    if asked is None or asked.entity_id != record_id:
        return None
    due, marks = work_due.find(tx, ending.KIND, record_id), stale.unreflected(tx, record_id)
    was_due = due if due and due.due_at != until else None
    work = _Work(services, principal, asked, until, was_due, marks is not None and marks.since is not None)
    if work_due.lease(tx, ending.KIND, record_id, until, now):
        return work, None
    return work, work_due.leased_until(tx, ending.KIND, record_id) or now


@dataclass(frozen=True, slots=True)
class _Work:
    """One question. until: what the record is held by; due: when somebody was to look at its Pulses; was_stale: whether
    that was for a change."""

    services: Services
    principal: Principal
    asked: QuestionRow
    until: datetime
    due: DueWork | None
    was_stale: bool

    def answer(self, seconds_left: SecondsLeft) -> None:
        """Read, compare with what was asked before, ask."""
        services, at = self.services, self.services.clock()
        found = services.database.run(self.principal, lambda tx: self._read(tx, at))
        if found is None:
            self.keep(_NOTHING, "not_found")
            return
        models = services.models()
        try:
            made = self._draft(found, models, at)
        except (Misconfigured, PromptOverflow) as problem:
            self.keep(_NOTHING, problem.code)
            return
        before = services.database.run(
            self.principal, lambda tx: store.answered_before(tx, self.asked, made.fingerprint)
        )
        if before is not None:
            self.keep(before, None, made)
            return
        outcome = draft.ask(services, self.principal, made, models, seconds_left)
        self.keep(_answered(outcome), outcome.problem or None, made, outcome)

    def keep(
        self, told: AnsweredRow, problem: str | None, made: Draft | None = None, outcome: Outcome | None = None
    ) -> None:
        """Write the answer down, or why there is none, and leave the record to others."""
        now, ids = self.services.clock(), {"tenant_id": self.principal.tenant_id, "question_id": self.asked.id}
        ledger_id = self.services.new_id(now)
        cost = outcome.cost_usd if outcome else Decimal()

        def commit(tx: Transaction) -> None:
            is_new = store.answer_question(
                tx, self.asked.id, told, told_of=made.prompted.told_of if made else (),
                fingerprint=made.fingerprint if made else "", cost_usd=cost, problem=problem, now=now,
            )  # fmt: skip
            if is_new and outcome is not None:
                store.note_day(tx, self.asked.entity_id, Day(now.astimezone(UTC).date(), cost_usd=cost))
                store.keep_ledger(tx, outcome.ledger(ledger_id), None)
            self.let_go(tx)

        self.services.database.run(self.principal, commit)
        if problem:
            log.warning("pulse_question_not_answered", code=problem, **ids)

    def let_go(self, tx: Transaction) -> None:
        """Leave the record, to be looked at when it was to be before, or for what came up meanwhile. Whoever marks it
        just now waits, and finds it left."""
        record_id = self.asked.entity_id
        if not work_due.lock(tx, ending.KIND, record_id, self.until):
            return
        marks = stale.unreflected(tx, record_id)
        times = [self.due.due_at] if self.due else []
        if marks and marks.since and (not times or not self.was_stale or "manual" in marks.causes):
            times += [marks.since]
        if not times and store.kept(tx, record_id):
            times = [self.services.clock() + self.services.age]
        if times:
            work_due.release(tx, ending.KIND, record_id, self.until, min(times))
        else:
            work_due.complete(tx, ending.KIND, record_id)

    def _read(self, tx: Transaction, at: datetime) -> Gathered | None:
        """None when the asker may not see the record any more, or it is gone."""
        about = gather.subject(tx, self.asked.entity_id)
        if about is None or about.level > self.asked.level or not about.kind.settings.pulse:
            return None
        return gather.gather(tx, about, self.asked.level, at, self.principal.tenant_id)

    def _draft(self, found: Gathered, models: Mapping[str, Model], at: datetime) -> Draft:
        chosen = draft.choices(found.subject, _LARGER, models)
        return draft.draft(found, chosen, at, self.asked.question, self.asked.id)


def _answered(outcome: Outcome) -> AnsweredRow:
    if outcome.written is None or outcome.answered is None:
        return _NOTHING
    return AnsweredRow(
        outcome.written.markdown, [one.to_json() for one in outcome.written.statements],
        [one.to_json() for one in outcome.written.citations], outcome.answered.model,
    )  # fmt: skip
