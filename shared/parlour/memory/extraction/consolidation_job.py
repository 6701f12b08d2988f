"""Consolidation of a long conversation that fell silent: a better model reads it once more.

Lasting statements become facts. One episode replaces the interim episodes. The rules are those of extraction: only the
user's own words are evidence, and erased facts are not found again. After an error nothing changes until the next
night. A window that a model refuses is skipped. After several failed nights the session waits until it gets new turns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from parlour.infra import log
from parlour.infra.errors import ProviderRejected
from parlour.infra.ids import uuid7
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import episodes, extraction_window, model_call, prompt, store, window_reading
from parlour.memory.extraction.answer_check import CheckedAnswer, NewEpisode
from parlour.memory.extraction.extraction_window import ExtractionWindow
from parlour.memory.extraction.model_answer import ExtractionAnswer
from parlour.memory.extraction.model_call import MemoryResponse
from parlour.memory.extraction.store import ExtractionSession, InterimEpisode, SilentSession
from parlour.memory.facts import fact_merge
from parlour.memory.facts import store as fact_store
from parlour.memory.facts.fact import KnownFact
from parlour.memory.leased_job import MAX_FAILURES, MIN_ROUND_SECONDS, MODEL_REFUSED, LeasedMemoryJob
from parlour.memory.memory_job import MemoryJob
from parlour.memory.memory_policy import parse_memory_policy
from parlour.search.index import scheduling

#: A conversation without a new turn for so long is silent.
SILENCE_PERIOD = timedelta(hours=24)

#: Answered turns since the last consolidation. Extraction read a conversation with this many or fewer as a whole.
MIN_TURNS = 20

#: Turns that are read at once; each window of a longer conversation has its episode.
MAX_WINDOW_TURNS = 60

_RETRY_DELAY = timedelta(hours=24)

#: Errors that come again the next night: every model rejects the request, or our own code breaks.
_PERMANENT_ERRORS = frozenset({ProviderRejected.code, "error"})


def schedule_consolidation(tx: Transaction, session_id: UUID) -> None:
    """Schedule consolidation for when the session has fallen silent, if it is long."""
    store.schedule_consolidation(tx, session_id, SILENCE_PERIOD, MIN_TURNS)


def consolidation_due_at(session: SilentSession | None) -> datetime | None:
    """Return when the session may be consolidated; None when it is short or there is no such session."""
    if session is None or session.turn_count <= MIN_TURNS:
        return None
    return session.last_active_at + SILENCE_PERIOD


def run_consolidation(dependencies: MemoryDependencies, memory_job: MemoryJob, seconds_left: SecondsLeft) -> None:
    """Consolidate the session, as far as the time allows, if it is long and has been silent for long enough.

    Raises RetryError when the database is away.
    """
    job = ConsolidationJob(dependencies, memory_job, dependencies.clock() + timedelta(seconds=seconds_left()))
    runner.run(job, dependencies.database, job.principal, seconds_left, MIN_ROUND_SECONDS)


@dataclass(frozen=True, slots=True)
class _ConsolidationInput:
    """One window of turns, the known facts of its user, and the interim episodes of the window."""

    conversation: ExtractionSession
    window: ExtractionWindow
    known_facts: list[KnownFact]
    interim_episodes: Sequence[InterimEpisode]


@dataclass(frozen=True, slots=True)
class _ConsolidationDraft:
    """The rows to write, with their ids, because a commit may run twice. It has at most one episode."""

    checked_answer: CheckedAnswer
    episodes: Sequence[NewEpisode]
    fact_ids: Sequence[UUID]
    episode_ids: tuple[UUID, UUID]
    drafted_at: datetime


class ConsolidationJob(LeasedMemoryJob[_ConsolidationInput, _ConsolidationDraft, bool]):
    """The job of one silent session."""

    failure_action: ClassVar[str] = "memory_consolidation_failed"

    def begin(self, tx: Transaction) -> bool:
        """Lease the session if it is silent; when it is short, nothing is left to do."""
        if not LeasedMemoryJob.begin(self, tx):
            return False
        ready_at = consolidation_due_at(store.find_silent_session(tx, self.session_id))
        if ready_at is None:
            self.complete(tx)
        elif ready_at > self.dependencies.clock():
            self.reschedule(tx, ready_at)
        else:
            return True
        return False

    def load(self, tx: Transaction) -> _ConsolidationInput | None:
        """Read the next window.

        Complete the work when too few turns are left, the session is gone or shared, the agent has no memory, or too
        many attempts failed.
        """
        attempts = self.start_attempt(tx)
        if attempts is None:
            return None
        silent, session = store.find_silent_session(tx, self.session_id), store.find_session(tx, self.session_id)
        if attempts.failures >= MAX_FAILURES:
            log.count("MemoryGivenUp")
        elif silent and silent.turn_count and session and parse_memory_policy(session.memory_policy).max_facts:
            after = silent.consolidated_turn
            last = store.find_window_end(tx, self.session_id, after, next_window_size(silent.turn_count))
            lines = store.read_lines(tx, self.session_id, after, last, session.classification)
            window = ExtractionWindow(tuple(lines), last, is_full=silent.turn_count > MAX_WINDOW_TURNS)
            notes = store.list_interim_episodes(tx, self.session_id, [line.id for line in window.user_lines])
            return _ConsolidationInput(session, window, fact_store.find_latest_facts(tx, session.scope), notes)
        self.complete(tx)
        return None

    def ask(self, loaded: _ConsolidationInput, seconds_left: SecondsLeft) -> _ConsolidationDraft:
        """Ask the better model, check its answer, and have a second look where it matters."""
        response = self._request_consolidation(loaded, seconds_left)
        if response.problem and response.problem != MODEL_REFUSED:
            raise JobFailed(response.problem)
        checked_answer = window_reading.look_again(
            self.dependencies,
            self.principal,
            loaded.conversation.model_routing,
            window_reading.check_response(response, loaded.window, loaded.known_facts, "consolidated"),
            loaded.window,
            seconds_left,
        )
        now = self.dependencies.clock()
        fact_ids = fact_merge.allocate_ids(checked_answer.candidates, checked_answer.rejected, now)
        return _ConsolidationDraft(checked_answer, checked_answer.episodes[:1], fact_ids, (uuid7(now), uuid7(now)), now)

    def commit(self, tx: Transaction, loaded: _ConsolidationInput, draft: _ConsolidationDraft) -> bool | None:
        """Write the facts and the episode; return whether another window follows."""
        if not self.end_attempt(tx):
            return None
        checked_answer, conversation = draft.checked_answer, loaded.conversation
        batch = fact_merge.FactBatch(
            checked_answer.candidates, checked_answer.rejected, draft.fact_ids, checked_answer.doubted_ids
        )
        fact_merge.merge_candidates(tx, conversation.scope, self.session_id, None, batch, draft.drafted_at)
        for draft_episode in draft.episodes:
            messages = tuple(line.id for line in loaded.window.user_lines)
            episode = replace(draft_episode, message_ids=messages, origin="consolidated")
            row = episodes.context_row(episode.text, conversation.title, episode.until_at, conversation.classification)
            store.add_episode(
                tx, conversation.scope, self.session_id, episode, row, draft.episode_ids, draft.drafted_at
            )
            store.replace_interim_episodes(tx, draft.episode_ids[0], [note.id for note in loaded.interim_episodes])
            scheduling.schedule_embedding(tx, self.job.tenant_id, draft.drafted_at)
        store.mark_consolidated(tx, self.session_id, loaded.window.until_turn, draft.drafted_at)
        if not loaded.window.is_full:
            self.complete(tx)
        return loaded.window.is_full

    def report(self, _loaded: _ConsolidationInput, draft: _ConsolidationDraft, has_more: bool) -> bool:
        """Log, and wake the embedder."""
        facts, written = len(draft.checked_answer.candidates), len(draft.episodes)
        log.info("memory_consolidation_finished", facts=facts, episodes=written, **self.log_ids)
        if written:
            self.wake_embedder()
        return has_more

    def counts_as_failure(self, code: str) -> bool:
        """Return whether the error would come again the next night."""
        return code in _PERMANENT_ERRORS

    def retry_delay(self, _code: str, _failures: int) -> timedelta:
        """Return the time until the next night."""
        return _RETRY_DELAY

    def _request_consolidation(
        self, loaded: _ConsolidationInput, seconds_left: SecondsLeft
    ) -> MemoryResponse[ExtractionAnswer]:
        """Ask a model about the window. Without user messages or a model the response is empty."""
        if not loaded.window.user_lines:
            return MemoryResponse(window_reading.NO_PROPOSALS)
        agent, routing = loaded.conversation.agent_name, loaded.conversation.model_routing
        question = prompt.consolidation_user_prompt(
            extraction_window.render_transcript(loaded.window, agent),
            loaded.known_facts,
            [note.text for note in loaded.interim_episodes],
        )
        request = window_reading.extraction_request(prompt.consolidation_system_prompt(agent), question, "quality")
        return model_call.request_answer(self.dependencies, self.principal, routing, request, seconds_left)


def next_window_size(turn_count: int) -> int:
    """Return how many of the turns the next window has: all, or an equal share of a long conversation."""
    return math.ceil(turn_count / math.ceil(turn_count / MAX_WINDOW_TURNS)) if turn_count else 0
