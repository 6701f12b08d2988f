"""Facts and episodes extracted from a session's new turns by a model, and checked against the user's own words.

What is said meanwhile stays due. An answer that cannot be read is asked for once more; then its window is skipped, with
a row that says so. After any other error nothing changes, and the next attempt waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from parlour.infra import log
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed
from parlour.jobs.work_due import GRACE, Attempts
from parlour.knowledge.index import pending
from parlour.memory import waking
from parlour.memory.consolidating import due
from parlour.memory.extracting import asking, checked, episodes, prompt, reading, store
from parlour.memory.extracting.asking import NOTHING, Asked, Heard
from parlour.memory.extracting.checked import Checked
from parlour.memory.extracting.reading import Stretch
from parlour.memory.extracting.store import Conversation
from parlour.memory.facts import keep
from parlour.memory.facts import store as known
from parlour.memory.facts.fact import Known
from parlour.memory.job import ROUND_SECONDS, MemoryJob, is_broken, is_hopeless
from parlour.memory.order import Order
from parlour.memory.policy import policy
from parlour.memory.services import Services
from parlour.memory.waking import Later

#: Earlier episodes that a new one is compared with by its words.
_MOST_EPISODES = 50

#: Cosine distance of two episodes' vectors up to which they are one.
_NEAR = 0.08

_LOOK_BACK = timedelta(days=30)


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Extract from the session's new turns, as far as the time allows.

    A message that comes before they are due, or while another worker is at them, does nothing. Raises RetryError when
    the database is away.
    """
    job = Extraction(services, order, services.clock() + timedelta(seconds=seconds_left()))
    runner.run(job, services.database, job.principal, seconds_left, ROUND_SECONDS)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One stretch of turns, what is known of its user, and how earlier attempts ended."""

    attempts: Attempts
    conversation: Conversation
    stretch: Stretch
    known: dict[str, Known]


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is to be written, with its ids: a commit may run twice."""

    checked: Checked
    fact_ids: Sequence[UUID]
    episode_ids: Sequence[tuple[UUID, UUID]]
    at: datetime


@dataclass(frozen=True, slots=True)
class _Written:
    """What one commit wrote. has_more: there are turns behind the stretch."""

    rows: int
    has_more: bool


class Extraction(MemoryJob[_Loaded, _Draft, _Written]):
    """The job of one session's new turns."""

    first_wait: ClassVar[timedelta] = waking.WAIT
    failure_action: ClassVar[str] = "memory_not_extracted"

    def is_due(self, tx: Transaction, due_at: datetime, now: datetime) -> bool:
        """Return whether the turns have waited long enough, or are many and no attempt at them failed."""
        backlog = store.backlog(tx, self.session_id)
        return due_at - GRACE <= now or (backlog.turns >= waking.TURNS and not backlog.failures)

    def load(self, tx: Transaction) -> _Loaded | None:
        """Read the next stretch. Complete the work when the session is gone, others read it, its agent remembers
        nothing, or there are no new turns."""
        attempts = self.start_attempt(tx)
        if attempts is None:
            return None
        found = store.conversation(tx, self.session_id)
        if found is not None and policy(found.memory_policy).facts > 0:
            new = store.next_turns(tx, self.session_id, found.until_turn, reading.MOST_TURNS)
            if new is not None:
                lines = store.new_turns(tx, self.session_id, found.until_turn, new.last, found.classification)
                stretch = Stretch(tuple(lines), new.last, is_full=new.turns == reading.MOST_TURNS)
                return _Loaded(attempts, found, stretch, known.latest(tx, found.scope))
        self.complete(tx)
        return None

    def ask(self, loaded: _Loaded, seconds_left: SecondsLeft) -> _Draft:
        """Ask a model, and check its answer."""
        heard = self._hear(loaded, seconds_left)
        if heard.problem and not is_hopeless(heard.problem, loaded.attempts.failures):
            raise JobFailed(heard.problem)
        found, now, new_id = _checked(loaded, heard), self.services.clock(), self.services.new_id
        fact_ids = keep.new_ids(found.candidates, found.refusals, new_id, now)
        return _Draft(found, fact_ids, [(new_id(now), new_id(now)) for _ in found.episodes], now)

    def commit(self, tx: Transaction, loaded: _Loaded, draft: _Draft) -> _Written | None:
        """Write facts and episodes; complete the work, or leave it to wait when more was said meanwhile."""
        if not self.end_attempt(tx):
            return None
        found, about, stretch = draft.checked, loaded.conversation, loaded.stretch
        kept = keep.keep(
            tx, about.scope, self.session_id, None, found.candidates, found.refusals, draft.fact_ids, draft.at
        )
        new_episodes = self._write_episodes(tx, about, draft)
        if new_episodes:
            pending.mark(tx, self.order.tenant_id, draft.at)
        store.note_extracted(tx, self.session_id, stretch.until_turn, draft.at)
        has_more = store.next_turns(tx, self.session_id, stretch.until_turn, 1) is not None
        if not has_more:
            self.complete(tx)
            due.note(tx, self.session_id)
        elif not stretch.is_full:
            self.reschedule(tx, waking.due_by(draft.at))
        return _Written(len(kept) + new_episodes, has_more)

    def report(self, loaded: _Loaded, draft: _Draft, written: _Written) -> bool:
        """Log, wake the embedder, and have a message come for what was said meanwhile."""
        log.info(
            "memory_extracted",
            turns=len({line.turn for line in loaded.stretch.lines}),
            kept=written.rows,
            refused=len(draft.checked.refusals),
            **self.ids,
        )
        if draft.checked.episodes:
            self.wake_embedder()
        if written.has_more and not loaded.stretch.is_full:
            waking.send(self.services.memory, [Later(self.order, waking.WAIT.total_seconds())])
        return written.has_more and loaded.stretch.is_full

    def _hear(self, loaded: _Loaded, seconds_left: SecondsLeft) -> Heard:
        """Ask a model, unless the user said nothing, there is no model, or our own code broke too often."""
        if not loaded.stretch.own:
            return NOTHING
        if is_broken(loaded.attempts):
            return Heard(None, loaded.attempts.problem or "")
        agent, routing = loaded.conversation.agent, loaded.conversation.model_routing
        question = prompt.question(reading.transcript(loaded.stretch, agent), loaded.known.values())
        asked = Asked(asking.instructions(agent), question, "cheap")
        return asking.ask(self.services, self.principal, routing, asked, seconds_left)

    def _write_episodes(self, tx: Transaction, about: Conversation, draft: _Draft) -> int:
        """Write the episodes, each into an earlier one that says nearly the same, if any. Return how many are new."""
        for pair in store.near_episodes(tx, about.scope, draft.at - _LOOK_BACK, _NEAR, _MOST_EPISODES):
            if episodes.has_same_figures(pair.told, pair.told_before):
                store.fold_into(tx, pair.young, pair.old)
        found = draft.checked.episodes
        earlier = store.recent_episodes(tx, about.scope, _MOST_EPISODES) if found else []
        written = 0
        for episode, ids in zip(found, draft.episode_ids, strict=True):
            like = episodes.like(episode.text, earlier)
            if like is not None:
                store.fold_episode(tx, like, episode.messages, episode.until_at)
                continue
            row = episodes.row(episode.text, about.title, episode.until_at, about.classification)
            store.insert_episode(tx, about.scope, self.session_id, episode, row, ids, draft.at)
            earlier.append(episodes.Kept(ids[0], episode.text))
            written += 1
        return written


def _checked(loaded: _Loaded, heard: Heard) -> Checked:
    if heard.answered is None:
        return Checked((), (checked.unanswered(heard.problem),), ())
    return checked.check(heard.answered, loaded.stretch)
