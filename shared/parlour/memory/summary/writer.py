"""A session's summary brought up to date: after the turn, by one writer at a time, a bounded stretch at a time.

What the model writes is checked, what it lost is kept beside it, and what it proposes for the agent's notes goes to
those who keep them. Without an answer that holds, prompts go on with the recap that they have; where none is to be
hoped for, or the session's agent has no model at all, the lines are kept and the anchors made without one.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.context import budget, tokens
from parlour.context.budget import MESSAGING, Profile
from parlour.context.segment import Layer, text_block
from parlour.infra import log
from parlour.infra.errors import (
    Misconfigured,
    NotFound,
    QueueUnavailable,
    RetryError,
    SpendRefused,
)
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.knowledge.index import pending
from parlour.memory.order import Order
from parlour.memory.recalling import recall
from parlour.memory.services import Services
from parlour.memory.state import states
from parlour.memory.summary import anchors, answer, rows, store, stretch
from parlour.memory.summary.answer import LONGEST_ANSWER, Asked, Unusable, Written
from parlour.memory.summary.store import BaseRow, Line, NewSummary, SessionRow, TurnRow
from parlour.memory.summary.stretch import MOST_TURNS, Turn
from parlour.memory.summary.telling import is_told, read, telling
from parlour.memory.summary.tries import GIVEN_UP, REFUSED, Outcome, is_let_be, is_worth_asking, next_try
from parlour.models.aside import Asking
from parlour.models.request import Model, ModelRequest
from parlour.models.route import OFFLINE, Choice, available, choose
from parlour.principal import system
from parlour.tenancy import bindings, people
from parlour.tenancy.bindings import Persona

PURPOSE = "summary"
"""As these calls are called in the report of costs."""

_KIND: work_due.Kind = "summary"
_SECONDS = 60.0
_SECONDS_KEPT = 10.0
"""What a model may take, and what is left of an invocation to write down what came of it."""

_MOST_STRETCHES = 8
"""Of a session that was left behind, how many stretches one invocation takes in."""

_MOST_LINES = 400
"""Lines that a new summary is held against, those that were said last; older ones stay as they were judged."""

_MOST_LOST = 20
"""Lines that the summary so far has lost and its writer is reminded of."""


def run(services: Services, tenant_id: UUID, session_id: UUID, seconds_left: SecondsLeft) -> None:
    """Bring the session's summary up to date, if one is wanted and its time has come. Raises a RetryError when the
    database is away; whatever is wrong with models is written down, and tried again later."""
    now = services.clock()
    work = _Work(services, tenant_id, session_id, now + timedelta(seconds=seconds_left()))
    if not services.database.run(tenant_id, lambda tx: work.begin(tx, now)):
        return
    try:
        work.write(seconds_left)
    except RetryError:
        with suppress(RetryError):
            work.let_go(work_due.GRACE)
        raise
    except Exception:
        with suppress(RetryError):
            work.fail("error")
        raise


@dataclass(frozen=True, slots=True)
class _Read:
    """Everything for one stretch: the session, the agent's notes, the summary that it goes on from, the turns, and who
    is asked."""

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
class _Work:
    """One session's turn at the summariser. `until`: what it is held by."""

    services: Services
    tenant_id: UUID
    session_id: UUID
    until: datetime

    def begin(self, tx: Transaction, now: datetime) -> bool:
        """Be the only one at it. Not where none is wanted, somebody is at it, or the next try has its time."""
        due = work_due.find(tx, _KIND, self.session_id)
        if due is None or not (due.due_at - work_due.GRACE <= now or due.due_at == self.until):
            return False
        return work_due.lease(tx, _KIND, self.session_id, self.until, now)

    def write(self, seconds_left: SecondsLeft) -> None:
        """Stretch after stretch, up to the newest messages."""
        models = self.services.models()
        for _ in range(_MOST_STRETCHES):
            if seconds_left() < _SECONDS + _SECONDS_KEPT:
                break
            try:
                found = self.services.database.run(self.tenant_id, lambda tx: self._read(tx, models))
            except (Misconfigured, NotFound) as problem:
                self.fail(problem.code, more=1)
                return
            if found is None or not found.taken:
                self._end()
                return
            if not self._take_in(found, models):
                return
        self.let_go(work_due.GRACE)
        self._again()

    def let_go(self, wait: timedelta) -> None:
        """Leave it to whoever comes next, by then."""
        due_at = self.services.clock() + wait
        self.services.database.run(
            self.tenant_id, lambda tx: work_due.release(tx, _KIND, self.session_id, self.until, due_at)
        )

    def _read(self, tx: Transaction, models: Mapping[str, Model]) -> _Read | None:
        """None where the session is gone. NotFound or Misconfigured where nobody can be asked."""
        session = store.session(tx, self.session_id)
        persona = bindings.load(tx, session.binding_id, session.user_id) if session else None
        if session is None or persona is None:
            return None
        reader = people.acting(persona)
        choices = available(choose(persona.agent.model_routing, "cheap"), models)
        base = store.base(tx, self.session_id, reader.clearance, words=choices[0].provider != OFFLINE)
        read_rows = store.turns_after(tx, self.session_id, base.until_turn, reader.clearance, MOST_TURNS + 1)
        more = len(read_rows) > MOST_TURNS
        found = [_turn(row) for row in read_rows[:MOST_TURNS]]
        taken = stretch.next_stretch(found, _cap(persona), tokens.count, more=more)
        notes = recall.notes(tx, self.session_id, self.services.clock())
        lost = store.lost_lines(tx, self.session_id, _MOST_LOST)
        if taken:
            store.note_tried(tx, self.session_id)
        return _Read(session, notes, lost, reader.clearance, base, taken, choices)

    def _take_in(self, found: _Read, models: Mapping[str, Model]) -> bool:
        """One stretch; whether there may be another."""
        asked = answer.ask(found.base.text, found.notes, found.taken, found.lost)
        outcome = self._ask(found, asked, models)
        if outcome.written is None and not is_let_be(found.session.failures, outcome):
            self.fail(outcome.problem)
            return False
        if outcome.written is None:
            log.warning("summary_left_out", code=outcome.problem, **self._ids())
        return self._keep(found, outcome.written or Written(found.base.text), outcome)

    def _ask(self, found: _Read, asked: Asked, models: Mapping[str, Model]) -> Outcome:
        """What holds of the model's answer; without a model there are no words, and what must survive is kept alone. A
        stretch in which nobody said anything leaves the summary as it is."""
        by = found.choices[0]
        if found.is_offline or not asked.numbers:
            return Outcome(Written("" if found.is_offline else found.base.text), by)
        if not is_worth_asking(found.session.failures, found.session.problem):
            return Outcome(None, by, problem=found.session.problem or "")
        messages: tuple[JsonObject, ...] = ({"role": "user", "content": [text_block(asked.words)]},)
        request = ModelRequest(by.model, LONGEST_ANSWER, (), (text_block(asked.system),), messages)
        size = tokens.count(asked.system) + tokens.count(asked.words)
        asking = Asking(request, size, found.choices, models, PURPOSE, _SECONDS, self.services.admit)
        given = self.services.aside.ask(system(self.tenant_id), asking)
        if given.problem is not None or given.completed is None or given.choice is None:
            code = given.problem.code if given.problem else "provider_unavailable"
            return Outcome(None, by, given.cost_usd, code)
        if given.completed.stop_reason == "refusal":
            return Outcome(None, given.choice, given.cost_usd, REFUSED)
        try:
            return Outcome(answer.check(given.text, asked), given.choice, given.cost_usd)
        except Unusable as problem:
            return Outcome(None, given.choice, given.cost_usd, problem.code)

    def _keep(self, found: _Read, written: Written, outcome: Outcome) -> bool:
        """Commit the version with everything that belongs to it. False when the session is somebody else's by now, or
        something that it tells of was deleted meanwhile: it is read anew then."""
        now, is_passed = self.services.clock(), outcome.written is None
        lines = self._lines(found.taken, now)
        row_id = self.services.new_id(now)
        new = NewSummary(
            found.base.version, found.taken[-1].number, written.text, written.kept, written.dropped,
            found.base.messages + sum(one.said for one in found.taken), [one.id for one in found.taken],
            [one.id for one in found.taken if not (one.is_closed or is_passed)], is_passed, outcome.by.provider,
            outcome.by.model, outcome.cost_usd,
        )  # fmt: skip

        def keep(tx: Transaction) -> tuple[int, int, bool] | None:
            if not work_due.lock(tx, _KIND, self.session_id, self.until):
                return None
            version = store.keep(tx, self.session_id, new, now)
            if version is None:
                work_due.release(tx, _KIND, self.session_id, self.until, now)
                return None
            store.keep_lines(tx, self.session_id, lines, now)
            self._judge(tx, written.text)
            applied = states.reconcile(tx, self.session_id, version, written.items, written.updates, now)
            is_anchored = self._anchor(tx, found, new, row_id, now)
            store.note_success(tx, self.session_id)
            return version, len(applied.refused), is_anchored

        kept = self.services.database.run(self.tenant_id, keep)
        if kept is None:
            return False
        version, refused, is_anchored = kept
        log.info(
            "summary_written", **self._ids(), version=version, turns=len(found.taken), made_up=written.made_up,
            strange=written.strange, refused=refused,
        )  # fmt: skip
        if is_anchored:
            self._embed()
        return True

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

    def _anchor(self, tx: Transaction, found: _Read, new: NewSummary, row_id: UUID, now: datetime) -> bool:
        """The anchor of what no anchor covers, where that is enough."""
        session = found.session
        if not anchors.is_due(new.messages, session.anchored):
            return False
        since = store.anchored_until(tx, self.session_id)
        later = store.turns_after(tx, self.session_id, since, found.clearance, anchors.MOST_TURNS)
        told = [_turn(row) for row in later if row.number <= new.until]
        number = session.anchors + 1
        draft = anchors.anchor(
            told, number, session.anchored + 1, session.title, session.speaker, session.classification
        )  # fmt: skip
        store.note_anchored(tx, self.session_id, number, new.messages)
        if draft is None:
            return False
        store.add_anchor(tx, row_id, self.session_id, draft, now)
        pending.mark(tx, self.tenant_id, now)
        return True

    def _end(self) -> None:
        """Nothing is left to take in; whoever wants more from now on says so anew."""

        def end(tx: Transaction) -> None:
            if work_due.lock(tx, _KIND, self.session_id, self.until):
                work_due.complete(tx, _KIND, self.session_id)

        self.services.database.run(self.tenant_id, end)

    def fail(self, problem: str, *, more: int = 0) -> None:
        """It came to nothing: the next try waits, longer each time; where there was no money it was none. `more`: 1 for
        one that had not even begun."""
        now = self.services.clock()

        def fail(tx: Transaction) -> int:
            if not work_due.lock(tx, _KIND, self.session_id, self.until):
                return 0
            if problem == SpendRefused.code:
                store.note_untried(tx, self.session_id)
            tries = 0 if problem == SpendRefused.code else store.note_failure(tx, self.session_id, problem, more=more)
            work_due.release(tx, _KIND, self.session_id, self.until, now + next_try(tries))
            return tries

        failures = self.services.database.run(self.tenant_id, fail)
        log.warning("summary_not_written", code=problem, failures=failures, **self._ids())
        if failures >= GIVEN_UP:
            log.count("MemoryGivenUp")

    def _again(self) -> None:
        """Have the rest taken in at once; should the message be lost, the sweep looks after it."""
        with suppress(QueueUnavailable):
            self.services.memory.send(Order(self.tenant_id, "summary", self.session_id).to_json(), 0)

    def _embed(self) -> None:
        with suppress(QueueUnavailable):
            pending.nudge(self.services.embedding, self.tenant_id)

    def _ids(self) -> dict[str, UUID]:
        return {"tenant_id": self.tenant_id, "session_id": self.session_id}


def _turn(row: TurnRow) -> Turn:
    return rows.turn(row.id, row.number, row.messages, is_closed=row.is_closed, is_drawn=row.is_drawn)


def _cap(persona: Persona) -> int:
    """What the agent's history may take."""
    profile: Profile = MESSAGING
    with suppress(Misconfigured):
        profile = budget.profile(persona.agent.budget)
    return profile.share(Layer.HISTORY).cap
