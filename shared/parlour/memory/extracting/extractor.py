"""A session's new turns are looked through: by one worker at a time, once each, by a model and held against the user's
own words.

What was said meanwhile stays due. Whatever goes wrong with a model is written down, nothing that there is changes, and
the next try waits; an answer that cannot be read is asked for once more and then let be, with a row that says so.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import Misconfigured, ProviderRejected, QueueUnavailable, RetryError, SpendRefused
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import work_due
from parlour.knowledge.index import pending
from parlour.memory import waking
from parlour.memory.consolidating import due
from parlour.memory.extracting import asking, checked, episodes, prompt, reading, store
from parlour.memory.extracting.answers import Answered
from parlour.memory.extracting.asking import Heard
from parlour.memory.extracting.checked import Checked, Told
from parlour.memory.extracting.reading import Stretch
from parlour.memory.extracting.store import Conversation
from parlour.memory.facts import keep
from parlour.memory.facts import store as known
from parlour.memory.facts.fact import Known
from parlour.memory.order import Order
from parlour.memory.policy import policy
from parlour.memory.services import Services
from parlour.memory.waking import Later
from parlour.models.route import OFFLINE, available, choose
from parlour.principal import Principal, system

_KIND: work_due.Kind = "memory"
_SECONDS_KEPT = 70.0
"""With less time than a model may take nothing further is begun."""

_MOST_EPISODES = 50
"""Earlier episodes that a new one is held against by its words."""

_NEAR = 0.08
"""Cosine distance of two episodes' vectors up to which they are one."""

_LOOK_BACK = timedelta(days=30)
_LONGEST_WAIT = timedelta(hours=6)
_NO_MONEY = timedelta(hours=1)
"""Until a tenant that is over its cap is looked at again."""

_GIVEN_UP = 5
"""Tries in a row without an answer; people are told of it then, and what is not going to be better is let be."""

_OURS = frozenset({"error", "died"})
"""Our own code breaks, or whoever ran it did not come back."""

_FINAL = _OURS | {ProviderRejected.code}
"""Problems that waiting does not mend."""


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Look through the session's new turns, as far as the time allows.

    Raises a RetryError when the database is away; the message comes again. A message that comes before the turns are
    due, or when somebody is at them, has nothing to do: another one comes.
    """
    now = services.clock()
    work = _Work(services, system(order.tenant_id), order, now + timedelta(seconds=seconds_left()))
    if not services.database.run(work.principal, lambda tx: work.begin(tx, now)):
        return
    try:
        work.go_on(seconds_left)
    except RetryError:
        work.let_go(services.clock())
        raise
    except Exception:
        work.failed("error")
        raise


def _nothing(_tx: Transaction, _session_id: UUID) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _Read:
    """One stretch, and what is known of its user."""

    conversation: Conversation
    stretch: Stretch
    known: dict[str, Known]


@dataclass(frozen=True, slots=True)
class _Work:
    """One session's turn. `until`: what it is held by."""

    services: Services
    principal: Principal
    order: Order
    until: datetime

    @property
    def session_id(self) -> UUID:
        return self.order.id

    def begin(self, tx: Transaction, now: datetime) -> bool:
        """Be the only one at the session, if its turns are due: some have waited long enough, or they are many."""
        far = store.how_far(tx, self.session_id)
        if far is None:
            return False
        is_due = far.due_at - work_due.GRACE <= now or (far.behind >= waking.TURNS and not far.failures)
        return is_due and work_due.lease(tx, _KIND, self.session_id, self.until, now)

    def go_on(self, seconds_left: SecondsLeft) -> None:
        """Stretch after stretch; what does not fit into the time follows by itself."""
        while True:
            read = self.services.database.run(self.principal, self._read)
            if read is None:
                return
            heard = self._heard(read, seconds_left)
            if heard.problem == SpendRefused.code:
                self.let_go(self.services.clock() + _NO_MONEY, store.note_untried)
                return
            if heard.problem and not _is_let_be(read.conversation, heard.problem):
                self.failed(heard.problem)
                return
            if not self._keep(read, heard):
                return
            if seconds_left() < _SECONDS_KEPT:
                self.let_go(self.services.clock())
                waking.send(self.services.memory, [Later(self.order, 0.0)])
                return

    def failed(self, problem: str) -> None:
        """A try came to nothing: the turns stay due, later each time."""
        now = self.services.clock()

        def fail(tx: Transaction) -> int:
            if not work_due.lock(tx, _KIND, self.session_id, self.until):
                return 0
            failures = store.note_failed(tx, self.session_id, problem, now)
            work_due.release(tx, _KIND, self.session_id, self.until, now + _back_off(failures))
            return failures

        with suppress(RetryError):
            failures = self.services.database.run(self.principal, fail)
            log.warning("memory_not_extracted", code=problem, failures=failures, **self._ids())
            if failures >= _GIVEN_UP:
                log.count("MemoryGivenUp")

    def let_go(self, due_at: datetime, noting: Callable[[Transaction, UUID], None] = _nothing) -> None:
        """Leave it to whoever comes next."""

        def leave(tx: Transaction) -> None:
            noting(tx, self.session_id)
            work_due.release(tx, _KIND, self.session_id, self.until, due_at)

        with suppress(RetryError):
            self.services.database.run(self.principal, leave)

    def _ids(self) -> dict[str, UUID]:
        return {"tenant_id": self.principal.tenant_id, "session_id": self.session_id}

    def _read(self, tx: Transaction) -> _Read | None:
        """The next stretch, and that it is tried; None when nobody has to look any more, which is settled under the
        lock that those wait for who add to it."""
        if not work_due.lock(tx, _KIND, self.session_id, self.until):
            return None
        read = self._stretch(tx)
        if read is None:
            work_due.complete(tx, _KIND, self.session_id)
        else:
            store.note_tried(tx, self.session_id, self.services.clock())
        return read

    def _stretch(self, tx: Transaction) -> _Read | None:
        """None when the session is gone, others read it along, its agent remembers nothing or nothing new was said."""
        found = store.conversation(tx, self.session_id)
        if found is None or policy(found.memory_policy).facts == 0:
            return None
        new = store.next_turns(tx, self.session_id, found.until_turn, reading.MOST_TURNS)
        if new is None:
            return None
        lines = store.new_turns(tx, self.session_id, found.until_turn, new.last, found.classification)
        stretch = Stretch(tuple(lines), new.last, is_full=new.turns == reading.MOST_TURNS)
        return _Read(found, stretch, known.latest(tx, found.scope))

    def _heard(self, read: _Read, seconds_left: SecondsLeft) -> Heard:
        """What a model says of the stretch; nothing is asked where the user said nothing or there is no model."""
        if not read.stretch.own:
            return _NOTHING
        if read.conversation.problem in _OURS and read.conversation.failures >= _GIVEN_UP:
            return Heard(None, read.conversation.problem)
        models = self.services.models()
        try:
            choices = available(choose(read.conversation.model_routing, "cheap"), models)
        except Misconfigured as problem:
            return Heard(None, problem.code)
        if choices[0].provider == OFFLINE:
            return _NOTHING
        agent = read.conversation.agent
        asked = prompt.question(reading.transcript(read.stretch, agent), read.known.values())
        return asking.ask(
            self.services, self.principal, asking.instructions(agent), asked, choices, models, seconds_left
        )  # fmt: skip

    def _keep(self, read: _Read, heard: Heard) -> bool:
        """Write down what came of it; whether there is more to look through."""
        services, now = self.services, self.services.clock()
        found = _checked(read, heard)
        ids = keep.new_ids(found.candidates, found.refusals, services.new_id, now)
        rows = [(services.new_id(now), services.new_id(now)) for _ in found.episodes]

        def write(tx: Transaction) -> tuple[bool, int]:
            if not work_due.lock(tx, _KIND, self.session_id, self.until):
                return False, 0
            scope = read.conversation.scope
            kept = keep.keep(tx, scope, self.session_id, None, found.candidates, found.refusals, ids, now)
            written = self._episodes(tx, read.conversation, found.episodes, rows, now)
            store.note_extracted(tx, self.session_id, read.stretch.until_turn, now)
            behind = store.next_turns(tx, self.session_id, read.stretch.until_turn, 1) is not None
            self._leave(tx, read.stretch, now, behind=behind)
            if written:
                pending.mark(tx, self.principal.tenant_id, now)
            return behind, len(kept) + written

        behind, kept_count = services.database.run(self.principal, write)
        log.info(
            "memory_extracted", turns=len({line.turn for line in read.stretch.lines}), kept=kept_count,
            refused=len(found.refusals), **self._ids(),
        )  # fmt: skip
        if found.episodes:
            self._have_embedded()
        if behind and not read.stretch.is_full:
            waking.send(services.memory, [Later(self.order, waking.WAIT.total_seconds())])
        return behind and read.stretch.is_full

    def _leave(self, tx: Transaction, stretch: Stretch, now: datetime, *, behind: bool) -> None:
        """Nobody has to look any more, or somebody at what was said meanwhile, once it has waited as everything does;
        a stretch of which there is more is gone on with at once."""
        if not behind:
            work_due.complete(tx, _KIND, self.session_id)
            due.note(tx, self.session_id)
        elif not stretch.is_full:
            work_due.release(tx, _KIND, self.session_id, self.until, waking.due_by(now))

    def _episodes(
        self, tx: Transaction, about: Conversation, told: Sequence[Told], ids: Sequence[tuple[UUID, UUID]],
        now: datetime,
    ) -> int:  # fmt: skip
        """Write the episodes, each into an earlier one that says nearly the same, where there is one; how many have
        rows of their own."""
        for pair in store.near_episodes(tx, about.scope, now - _LOOK_BACK, _NEAR, _MOST_EPISODES):
            if episodes.has_same_figures(pair.told, pair.told_before):
                store.fold_into(tx, pair.young, pair.old)
        there = store.recent_episodes(tx, about.scope, _MOST_EPISODES) if told else []
        written = 0
        for one, new in zip(told, ids, strict=True):
            like = episodes.like(one.text, there)
            if like is not None:
                store.fold_episode(tx, like, one.messages, one.until_at)
                continue
            row = episodes.row(one.text, about.title, one.until_at, about.classification)
            store.insert_episode(tx, about.scope, self.session_id, one, row, new, now)
            there.append(episodes.Kept(new[0], one.text))
            written += 1
        return written

    def _have_embedded(self) -> None:
        with suppress(QueueUnavailable):  # the sweep finds what the embedder was not told of
            pending.nudge(self.services.embedding, self.principal.tenant_id)


_NOTHING = Heard(Answered((), ()))


def _is_let_be(about: Conversation, problem: str) -> bool:
    """Whether the stretch is gone past without an answer, with a row that says so."""
    return problem == asking.REFUSED or (problem in _FINAL and about.failures >= _GIVEN_UP)


def _checked(read: _Read, heard: Heard) -> Checked:
    if heard.answered is None:
        return Checked((), (checked.unanswered(heard.problem),), ())
    return checked.check(heard.answered, read.stretch)


def _back_off(failures: int) -> timedelta:
    return min(waking.WAIT * float(2 ** min(max(0, failures - 1), 10)), _LONGEST_WAIT)
