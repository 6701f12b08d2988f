"""A long conversation that has fallen silent is gone through once more, whole, by the better model: what lasts of it
become facts, and what happened one episode, in the place of those that were noted on the way.

The rules are the extractor's: only the user's own words are evidence. Who has a fact forgotten is not told it again by
the messages that it was drawn from. Whatever goes wrong with a model, everything stays as it is, for the next night; a
stretch that a model will not read is gone past, and after some nights in vain the session is left alone until it talks
again.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected, QueueUnavailable, RetryError
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.knowledge.index import pending
from parlour.memory.consolidating import due, prompt, store
from parlour.memory.consolidating.store import Note
from parlour.memory.extracting import asking, checked, episodes, reading
from parlour.memory.extracting import store as conversations
from parlour.memory.extracting.answers import Answered
from parlour.memory.extracting.asking import Heard
from parlour.memory.extracting.checked import Checked, Told
from parlour.memory.extracting.reading import Stretch
from parlour.memory.extracting.store import Conversation
from parlour.memory.facts import keep
from parlour.memory.facts import store as known
from parlour.memory.facts.fact import FLOOR, Known
from parlour.memory.order import Order
from parlour.memory.policy import policy
from parlour.memory.services import Services
from parlour.models.route import OFFLINE, available, choose
from parlour.principal import Principal, system

MOST_TURNS = 60
"""Turns that are gone through at once; of a longer conversation each such stretch has its episode."""

_KIND: work_due.Kind = "consolidation"
_SECONDS_KEPT = 70.0
"""With less time than a model may take nothing further is begun."""

_NEXT_NIGHT = timedelta(hours=24)

_GIVEN_UP = 5
"""Nights in a row in vain, after which people are told."""

_FINAL = frozenset({ProviderRejected.code, "error"})
"""Problems that another night does not mend: every model rejects the request, or our own code breaks."""


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Consolidate the session, as far as the time allows.

    Raises a RetryError when the database is away; the message comes again. One that talks again, or is short, is left
    alone, and so is one that somebody else is at.
    """
    now = services.clock()
    work = _Work(services, system(order.tenant_id), order.id, now + timedelta(seconds=seconds_left()))
    if not services.database.run(work.principal, lambda tx: work.begin(tx, now)):
        return
    try:
        work.go_on(seconds_left)
    except RetryError:
        with suppress(RetryError):
            work.let_go(services.clock())
        raise
    except Exception:
        with suppress(RetryError):
            work.failed("error")
        raise


@dataclass(frozen=True, slots=True)
class _Read:
    """One stretch, and what is known of its user."""

    conversation: Conversation
    stretch: Stretch
    known: dict[str, Known]
    notes: Sequence[Note]


@dataclass(frozen=True, slots=True)
class _Work:
    """One session's turn. `until`: what it is held by."""

    services: Services
    principal: Principal
    session_id: UUID
    until: datetime

    def begin(self, tx: Transaction, now: datetime) -> bool:
        """Be the only one at the session, if it has been silent for long enough and is long."""
        silent = store.silent(tx, self.session_id)
        if silent is not None and silent.failures >= _GIVEN_UP:
            log.count("MemoryGivenUp")
            work_due.complete(tx, _KIND, self.session_id)
            return False
        ready_at = due.ready_at(silent)
        if ready_at is None:
            work_due.complete(tx, _KIND, self.session_id)
            return False
        if ready_at > now:
            work_due.schedule(tx, _KIND, self.session_id, ready_at)
            return False
        return work_due.lease(tx, _KIND, self.session_id, self.until, now)

    def go_on(self, seconds_left: SecondsLeft) -> None:
        """Stretch after stretch, until so few turns are left that nobody need go through them again."""
        while True:
            read = self.services.database.run(self.principal, self._read)
            if read is None:
                self._run(lambda tx: work_due.complete(tx, _KIND, self.session_id))
                return
            heard = self._heard(read, seconds_left)
            if heard.problem and heard.problem != asking.REFUSED:
                self.failed(heard.problem)
                return
            if not self._keep(read, heard):
                return
            if seconds_left() < _SECONDS_KEPT:
                self.let_go(self.services.clock())
                return

    def failed(self, problem: str) -> None:
        """A night in vain, which counts where another is no better."""
        due_at = self.services.clock() + _NEXT_NIGHT

        def fail(tx: Transaction) -> None:
            if problem not in _FINAL:
                store.note_no_night(tx, self.session_id)
            work_due.release(tx, _KIND, self.session_id, self.until, due_at)

        self._run(fail)
        log.warning("memory_not_consolidated", code=problem, **self._ids())

    def let_go(self, due_at: datetime) -> None:
        """Leave it to whoever comes next."""
        self._run(lambda tx: work_due.release(tx, _KIND, self.session_id, self.until, due_at))

    def _run(self, work: Callable[[Transaction], object]) -> None:
        self.services.database.run(self.principal, work)

    def _ids(self) -> dict[str, UUID]:
        return {"tenant_id": self.principal.tenant_id, "session_id": self.session_id}

    def _read(self, tx: Transaction) -> _Read | None:
        """None when too little is left, the session is gone or read by others, or its agent remembers nothing."""
        silent, found = store.silent(tx, self.session_id), conversations.conversation(tx, self.session_id)
        if silent is None or found is None or silent.turns == 0 or policy(found.memory_policy).facts == 0:
            return None
        after = silent.consolidated_turn
        last = store.stretch_end(tx, self.session_id, after, share(silent.turns))
        lines = conversations.new_turns(tx, self.session_id, after, last, found.classification)
        stretch = Stretch(tuple(lines), last, is_full=silent.turns > MOST_TURNS)
        store.note_night(tx, self.session_id)
        noted = store.notes(tx, self.session_id, [line.id for line in stretch.own])
        return _Read(found, stretch, known.latest(tx, found.scope), noted)

    def _heard(self, read: _Read, seconds_left: SecondsLeft) -> Heard:
        """What a model says of the stretch; nothing is asked where the user said nothing or there is no model."""
        if not read.stretch.own:
            return _NOTHING
        models = self.services.models()
        try:
            choices = available(choose(read.conversation.model_routing, "quality"), models)
        except Misconfigured as problem:
            return Heard(None, problem.code)
        if choices[0].provider == OFFLINE:
            return _NOTHING
        agent = read.conversation.agent
        asked = prompt.question(
            reading.transcript(read.stretch, agent), read.known.values(), [one.text for one in read.notes]
        )  # fmt: skip
        told = prompt.instructions(agent, FLOOR)
        return asking.ask(self.services, self.principal, told, asked, choices, models, seconds_left)

    def _keep(self, read: _Read, heard: Heard) -> bool:
        """Write down what came of it; whether there is more to go through."""
        services, now = self.services, self.services.clock()
        found = _checked(read, heard)
        ids = keep.new_ids(found.candidates, found.refusals, services.new_id, now)
        row_ids = (services.new_id(now), services.new_id(now))

        def write(tx: Transaction) -> bool:
            if not work_due.lock(tx, _KIND, self.session_id, self.until):
                return False
            scope = read.conversation.scope
            keep.keep(tx, scope, self.session_id, None, found.candidates, found.refusals, ids, now)
            for told in found.episodes[:1]:
                self._episode(tx, read, told, row_ids, now)
            store.note_consolidated(tx, self.session_id, read.stretch.until_turn, now)
            if not read.stretch.is_full:
                work_due.complete(tx, _KIND, self.session_id)
            return read.stretch.is_full

        more = services.database.run(self.principal, write)
        log.info("memory_consolidated", facts=len(found.candidates), episodes=len(found.episodes[:1]), **self._ids())
        if found.episodes:
            with suppress(QueueUnavailable):  # the sweep finds what the embedder was not told of
                pending.nudge(services.embedding, self.principal.tenant_id)
        return more

    def _episode(self, tx: Transaction, read: _Read, told: Told, ids: tuple[UUID, UUID], now: datetime) -> None:
        about = read.conversation
        own = tuple(line.id for line in read.stretch.own)
        whole = replace(told, messages=own)
        row = episodes.row(told.text, about.title, told.until_at, about.classification)
        conversations.insert_episode(tx, about.scope, self.session_id, whole, row, ids, now, "consolidated")
        store.fold_notes(tx, ids[0], [one.id for one in read.notes])
        pending.mark(tx, self.principal.tenant_id, now)


_NOTHING = Heard(Answered((), ()))


def share(turns: int) -> int:
    """How many of so many turns are gone through next: all, or one of a few stretches of the same length."""
    return math.ceil(turns / math.ceil(turns / MOST_TURNS)) if turns else 0


def _checked(read: _Read, heard: Heard) -> Checked:
    if heard.answered is None:
        return Checked((), (checked.unanswered(heard.problem),), ())
    return checked.check(heard.answered, read.stretch, "consolidated")
