"""A session's summary, brought up to date after the turn, a bounded stretch of turns at a time.

What the model writes is checked, what it lost is kept beside it, and what it proposes for the agent's notes goes to
those who keep them. Without an answer that holds, prompts go on with the recap that they have; where none is to be
hoped for, or the session's agent has no model at all, the lines are kept and the anchors made without one.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import ClassVar
from uuid import UUID

from parlour.context import budget, tokens
from parlour.context.budget import MESSAGING, Profile
from parlour.context.segment import Layer, text_block
from parlour.infra import log
from parlour.infra.errors import Misconfigured, NotFound
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed
from parlour.jobs.work_due import Attempts
from parlour.knowledge.index import pending
from parlour.memory.job import GIVEN_UP, REFUSED, ROUND_SECONDS, MemoryJob, is_broken, is_hopeless
from parlour.memory.order import Order
from parlour.memory.recalling import recall
from parlour.memory.services import Services
from parlour.memory.state import states
from parlour.memory.summary import anchors, answer, rows, store, stretch
from parlour.memory.summary.answer import LONGEST_ANSWER, Asked, Unusable, Written
from parlour.memory.summary.store import BaseRow, Line, NewSummary, SessionRow, TurnRow
from parlour.memory.summary.stretch import MOST_TURNS, Turn
from parlour.memory.summary.telling import is_told, read, telling
from parlour.models.aside import Asking
from parlour.models.request import Model, ModelRequest
from parlour.models.route import OFFLINE, Choice, available, choose
from parlour.tenancy import bindings, people
from parlour.tenancy.bindings import Persona

#: What these calls are for, as the report of costs calls it.
PURPOSE = "summary"

#: After the first failure; twice the time after which the sweep looks for work.
FIRST_WAIT = timedelta(minutes=10)

#: What a model may take, and what is left of an invocation for the commit.
_SECONDS, _COMMIT_SECONDS = 60.0, 10.0

#: Lines that a new summary is held against, those that were said last; older ones stay as they were judged.
_MOST_LINES = 400

#: Lines that the summary so far has lost and its writer is reminded of.
_MOST_LOST = 20


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Bring the session's summary up to date, if one is wanted and its time has come.

    Raises RetryError when the database is away; what is wrong with models is written down, and tried again later.
    """
    job = SummaryJob(services, order, services.clock() + timedelta(seconds=seconds_left()), services.models())
    runner.run(job, services.database, job.principal, seconds_left, ROUND_SECONDS)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """Everything for one stretch: the session, the agent's notes, the summary that it goes on from, the turns, and who
    is asked."""

    attempts: Attempts
    session: SessionRow
    notes: JsonObject
    lost: Sequence[str]
    clearance: int
    base: BaseRow
    taken: Sequence[Turn]
    choices: Sequence[Choice]

    @property
    def is_offline(self) -> bool:
        return self.choices[0].provider == OFFLINE


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of asking: what holds of the answer, or the code of the problem."""

    written: Written | None
    by: Choice
    cost_usd: Decimal = Decimal()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is to be written, with its ids: a commit may run twice."""

    written: Written
    new: NewSummary
    lines: Sequence[Line]
    row_id: UUID
    at: datetime


@dataclass(frozen=True, slots=True)
class _Result:
    """What one commit wrote. version: None when something that it tells of was deleted meanwhile."""

    version: int | None
    refused: int = 0
    is_anchored: bool = False


@dataclass(frozen=True, slots=True)
class SummaryJob(MemoryJob[_Loaded, _Draft, _Result]):
    """The job of one session's summary."""

    models: Mapping[str, Model]

    first_wait: ClassVar[timedelta] = FIRST_WAIT
    failure_action: ClassVar[str] = "summary_not_written"

    def load(self, tx: Transaction) -> _Loaded | None:
        """Read the next stretch. Complete the work when nothing is left to take in, or the session is gone."""
        attempts = self.start_attempt(tx)
        if attempts is None:
            return None
        session = store.session(tx, self.session_id)
        persona = bindings.load(tx, session.binding_id, session.user_id) if session else None
        if session is not None and persona is not None:
            try:
                clearance = people.acting(persona).clearance
                choices = available(choose(persona.agent.model_routing, "cheap"), self.models)
            except (Misconfigured, NotFound) as problem:
                raise JobFailed(problem.code) from problem
            base = store.base(tx, self.session_id, clearance, words=choices[0].provider != OFFLINE)
            turns = store.turns_after(tx, self.session_id, base.until_turn, clearance, MOST_TURNS + 1)
            taken = stretch.next_stretch(
                [_turn(row) for row in turns[:MOST_TURNS]], _cap(persona), tokens.count, more=len(turns) > MOST_TURNS
            )
            if taken:
                notes = recall.notes(tx, self.session_id, self.services.clock())
                lost = store.lost_lines(tx, self.session_id, _MOST_LOST)
                return _Loaded(attempts, session, notes, lost, clearance, base, taken, choices)
        self.complete(tx)
        return None

    def ask(self, loaded: _Loaded, seconds_left: SecondsLeft) -> _Draft:
        """Ask a model, and check its answer. A stretch that nobody will tell of is passed over with the old text."""
        asked = answer.ask(loaded.base.text, loaded.notes, loaded.taken, loaded.lost)
        outcome = self._outcome(loaded, asked, seconds_left)
        failures, is_passed = loaded.attempts.failures, outcome.written is None
        if is_passed:
            is_paid_often = outcome.cost_usd > 0 and failures >= GIVEN_UP
            if not is_paid_often and not is_hopeless(outcome.problem, failures):
                raise JobFailed(outcome.problem)
            log.warning("summary_left_out", code=outcome.problem, **self.ids)
        now, base, taken = self.services.clock(), loaded.base, loaded.taken
        written = outcome.written or Written(base.text)
        new = NewSummary(
            base=base.version,
            until=taken[-1].number,
            text=written.text,
            kept=written.kept,
            dropped=written.dropped,
            messages=base.messages + sum(turn.said for turn in taken),
            turns=[turn.id for turn in taken],
            told=[turn.id for turn in taken if not (turn.is_closed or is_passed)],
            is_passed=is_passed,
            provider=outcome.by.provider,
            model=outcome.by.model,
            cost_usd=outcome.cost_usd,
        )
        return _Draft(written, new, self._lines(taken, now), self.services.new_id(now), now)

    def commit(self, tx: Transaction, loaded: _Loaded, draft: _Draft) -> _Result | None:
        """Write the version with everything that belongs to it, unless something that it tells of was deleted."""
        if not self.end_attempt(tx):
            return None
        version = store.keep(tx, self.session_id, draft.new, draft.at)
        if version is None:
            self.reschedule(tx, draft.at)
            return _Result(None)
        written = draft.written
        store.keep_lines(tx, self.session_id, draft.lines, draft.at)
        self._judge(tx, written.text)
        applied = states.reconcile(tx, self.session_id, version, written.items, written.updates, draft.at)
        return _Result(version, len(applied.refused), self._anchor(tx, loaded, draft))

    def report(self, loaded: _Loaded, draft: _Draft, result: _Result) -> bool:
        """Log, and wake the embedder for an anchor; what is left is taken in at once."""
        if result.version is None:
            return False
        log.info(
            "summary_written",
            **self.ids,
            version=result.version,
            turns=len(loaded.taken),
            made_up=draft.written.made_up,
            strange=draft.written.strange,
            refused=result.refused,
        )
        if result.is_anchored:
            self.wake_embedder()
        return True

    def _outcome(self, loaded: _Loaded, asked: Asked, seconds_left: SecondsLeft) -> _Outcome:
        """What holds of the model's answer; without a model there are no words, and what must survive is kept alone. A
        stretch in which nobody said anything leaves the summary as it is."""
        by = loaded.choices[0]
        if loaded.is_offline or not asked.numbers:
            return _Outcome(Written("" if loaded.is_offline else loaded.base.text), by)
        if is_broken(loaded.attempts):
            return _Outcome(None, by, problem=loaded.attempts.problem or "")
        messages: tuple[JsonObject, ...] = ({"role": "user", "content": [text_block(asked.words)]},)
        request = ModelRequest(by.model, LONGEST_ANSWER, (), (text_block(asked.system),), messages)
        size = tokens.count(asked.system) + tokens.count(asked.words)
        seconds = max(1.0, min(_SECONDS, seconds_left() - _COMMIT_SECONDS))
        asking = Asking(request, size, loaded.choices, self.models, PURPOSE, seconds, self.services.admit)
        given = self.services.aside.ask(self.principal, asking)
        if given.problem is not None or given.completed is None or given.choice is None:
            code = given.problem.code if given.problem else "provider_unavailable"
            return _Outcome(None, by, given.cost_usd, code)
        if given.completed.stop_reason == "refusal":
            return _Outcome(None, given.choice, given.cost_usd, REFUSED)
        try:
            return _Outcome(answer.check(given.text, asked), given.choice, given.cost_usd)
        except Unusable as problem:
            return _Outcome(None, given.choice, given.cost_usd, problem.code)

    def _lines(self, taken: Sequence[Turn], now: datetime) -> list[Line]:
        """What must survive of these turns."""
        return [
            Line(self.services.new_id(now), message.id, turn.number, message.ours, one)
            for turn in taken
            for message in turn.messages
            for one in telling(message.text)
        ]

    def _judge(self, tx: Transaction, text: str) -> None:
        """Which lines the new summary says itself: those of the stretch, and those that an older one said."""
        said = read(text)
        kept = store.newest_lines(tx, self.session_id, _MOST_LINES)
        wrong = [row.id for row in kept if row.untold == is_told(rows.line(row.kind, row.value), said)]
        if wrong:
            store.note_told(tx, wrong)

    def _anchor(self, tx: Transaction, loaded: _Loaded, draft: _Draft) -> bool:
        """Write the anchor of what no anchor covers, where that is enough."""
        session, new = loaded.session, draft.new
        if not anchors.is_due(new.messages, session.anchored):
            return False
        since = store.anchored_until(tx, self.session_id)
        later = store.turns_after(tx, self.session_id, since, loaded.clearance, anchors.MOST_TURNS)
        turns = [_turn(row) for row in later if row.number <= new.until]
        number = session.anchors + 1
        row = anchors.anchor(
            turns, number, session.anchored + 1, session.title, session.speaker, session.classification
        )
        store.note_anchored(tx, self.session_id, number, new.messages)
        if row is None:
            return False
        store.add_anchor(tx, draft.row_id, self.session_id, row, draft.at)
        pending.mark(tx, self.order.tenant_id, draft.at)
        return True


def _turn(row: TurnRow) -> Turn:
    return rows.turn(row.id, row.number, row.messages, is_closed=row.is_closed, is_drawn=row.is_drawn)


def _cap(persona: Persona) -> int:
    """What the agent's history may take."""
    profile: Profile = MESSAGING
    with suppress(Misconfigured):
        profile = budget.profile(persona.agent.budget)
    return profile.share(Layer.HISTORY).cap
