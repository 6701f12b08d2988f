"""A long conversation that fell silent, gone through once more by the better model: what lasts of it becomes facts, and
what happened one episode, in the place of those that were noted on the way.

The rules are the extractor's: only the user's own words are evidence, and forgotten facts are not found again. After an
error everything stays as it is for the next night. A stretch that a model refuses is skipped; after some nights in vain
the session is left alone until it talks again.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import ProviderRejected
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed
from parlour.knowledge.index import pending
from parlour.memory.consolidating import due, prompt, store
from parlour.memory.consolidating.store import Note
from parlour.memory.extracting import asking, checked, episodes, reading
from parlour.memory.extracting import store as conversations
from parlour.memory.extracting.asking import NOTHING, Asked, Heard
from parlour.memory.extracting.checked import Checked, Told
from parlour.memory.extracting.reading import Stretch
from parlour.memory.extracting.store import Conversation
from parlour.memory.facts import keep
from parlour.memory.facts import store as known
from parlour.memory.facts.fact import FLOOR, Known
from parlour.memory.job import GIVEN_UP, REFUSED, ROUND_SECONDS, MemoryJob
from parlour.memory.order import Order
from parlour.memory.policy import policy
from parlour.memory.services import Services

#: Turns that are gone through at once; of a longer conversation each such stretch has its episode.
MOST_TURNS = 60

_NEXT_NIGHT = timedelta(hours=24)

#: Errors that another night does not mend: every model rejects the request, or our own code breaks.
_FINAL = frozenset({ProviderRejected.code, "error"})


def run(services: Services, order: Order, seconds_left: SecondsLeft) -> None:
    """Consolidate the session, as far as the time allows, if it is long and has been silent for long enough.

    Raises RetryError when the database is away.
    """
    job = Consolidation(services, order, services.clock() + timedelta(seconds=seconds_left()))
    runner.run(job, services.database, job.principal, seconds_left, ROUND_SECONDS)


@dataclass(frozen=True, slots=True)
class _Loaded:
    """One stretch of turns, what is known of its user, and what was noted of it on the way."""

    conversation: Conversation
    stretch: Stretch
    known: dict[str, Known]
    notes: Sequence[Note]


@dataclass(frozen=True, slots=True)
class _Draft:
    """What is to be written, with its ids: a commit may run twice. episodes: one, or none."""

    checked: Checked
    episodes: Sequence[Told]
    fact_ids: Sequence[UUID]
    episode_ids: tuple[UUID, UUID]
    at: datetime


class Consolidation(MemoryJob[_Loaded, _Draft, bool]):
    """The job of one silent session."""

    failure_action: ClassVar[str] = "memory_not_consolidated"

    def begin(self, tx: Transaction) -> bool:
        """Lease the session if it is silent; when it is short, nothing is left to do."""
        if not MemoryJob.begin(self, tx):
            return False
        ready_at = due.ready_at(store.silent(tx, self.session_id))
        if ready_at is None:
            self.complete(tx)
        elif ready_at > self.services.clock():
            self.reschedule(tx, ready_at)
        else:
            return True
        return False

    def load(self, tx: Transaction) -> _Loaded | None:
        """Read the next stretch. Complete the work when too little is left, the session is gone or read by others, its
        agent remembers nothing, or too many nights were in vain."""
        attempts = self.start_attempt(tx)
        if attempts is None:
            return None
        silent, found = store.silent(tx, self.session_id), conversations.conversation(tx, self.session_id)
        if attempts.failures >= GIVEN_UP:
            log.count("MemoryGivenUp")
        elif silent and silent.turns and found and policy(found.memory_policy).facts:
            after = silent.consolidated_turn
            last = store.stretch_end(tx, self.session_id, after, share(silent.turns))
            lines = conversations.new_turns(tx, self.session_id, after, last, found.classification)
            stretch = Stretch(tuple(lines), last, is_full=silent.turns > MOST_TURNS)
            notes = store.notes(tx, self.session_id, [line.id for line in stretch.own])
            return _Loaded(found, stretch, known.latest(tx, found.scope), notes)
        self.complete(tx)
        return None

    def ask(self, loaded: _Loaded, seconds_left: SecondsLeft) -> _Draft:
        """Ask the better model, and check its answer."""
        heard = self._hear(loaded, seconds_left)
        if heard.problem and heard.problem != REFUSED:
            raise JobFailed(heard.problem)
        if heard.answered is None:
            found = Checked((), (checked.unanswered(heard.problem),), ())
        else:
            found = checked.check(heard.answered, loaded.stretch, "consolidated")
        now, new_id = self.services.clock(), self.services.new_id
        fact_ids = keep.new_ids(found.candidates, found.refusals, new_id, now)
        return _Draft(found, found.episodes[:1], fact_ids, (new_id(now), new_id(now)), now)

    def commit(self, tx: Transaction, loaded: _Loaded, draft: _Draft) -> bool | None:
        """Write facts and the episode; return whether there is more to go through."""
        if not self.end_attempt(tx):
            return None
        found, scope = draft.checked, loaded.conversation.scope
        keep.keep(tx, scope, self.session_id, None, found.candidates, found.refusals, draft.fact_ids, draft.at)
        for told in draft.episodes:
            self._write_episode(tx, loaded, told, draft)
        store.note_consolidated(tx, self.session_id, loaded.stretch.until_turn, draft.at)
        if not loaded.stretch.is_full:
            self.complete(tx)
        return loaded.stretch.is_full

    def report(self, _loaded: _Loaded, draft: _Draft, has_more: bool) -> bool:
        """Log, and wake the embedder."""
        facts, written = len(draft.checked.candidates), len(draft.episodes)
        log.info("memory_consolidated", facts=facts, episodes=written, **self.ids)
        if written:
            self.wake_embedder()
        return has_more

    def is_counted(self, code: str) -> bool:
        """Return whether another night is no better."""
        return code in _FINAL

    def wait(self, _code: str, _failures: int) -> timedelta:
        """Return the time until the next night."""
        return _NEXT_NIGHT

    def _hear(self, loaded: _Loaded, seconds_left: SecondsLeft) -> Heard:
        """What a model says of the stretch; nothing is asked where the user said nothing or there is no model."""
        if not loaded.stretch.own:
            return NOTHING
        agent, routing = loaded.conversation.agent, loaded.conversation.model_routing
        question = prompt.question(
            reading.transcript(loaded.stretch, agent), loaded.known.values(), [note.text for note in loaded.notes]
        )
        asked = Asked(prompt.instructions(agent, FLOOR), question, "quality")
        return asking.ask(self.services, self.principal, routing, asked, seconds_left)

    def _write_episode(self, tx: Transaction, loaded: _Loaded, told: Told, draft: _Draft) -> None:
        about = loaded.conversation
        whole = replace(told, messages=tuple(line.id for line in loaded.stretch.own))
        row = episodes.row(told.text, about.title, told.until_at, about.classification)
        conversations.insert_episode(
            tx, about.scope, self.session_id, whole, row, draft.episode_ids, draft.at, "consolidated"
        )
        store.fold_notes(tx, draft.episode_ids[0], [note.id for note in loaded.notes])
        pending.mark(tx, self.order.tenant_id, draft.at)


def share(turns: int) -> int:
    """Return how many of so many turns are gone through next: all, or one of a few stretches of the same length."""
    return math.ceil(turns / math.ceil(turns / MOST_TURNS)) if turns else 0
