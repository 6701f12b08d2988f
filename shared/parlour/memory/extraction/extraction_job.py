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
from parlour.infra.ids import uuid7
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed
from parlour.jobs.work_due import SWEEP_DELAY, Attempts
from parlour.memory import job_scheduling
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.extraction import (
    consolidation_job,
    episodes,
    extraction_window,
    model_call,
    prompt,
    store,
    window_reading,
)
from parlour.memory.extraction.answer_check import CheckedAnswer
from parlour.memory.extraction.extraction_window import ExtractionWindow
from parlour.memory.extraction.model_answer import ExtractionAnswer
from parlour.memory.extraction.model_call import MemoryResponse
from parlour.memory.extraction.store import ExtractionSession
from parlour.memory.facts import fact_merge
from parlour.memory.facts import store as fact_store
from parlour.memory.facts.fact import KnownFact
from parlour.memory.job_scheduling import DelayedJob
from parlour.memory.leased_job import MIN_ROUND_SECONDS, LeasedMemoryJob, is_failing_on_own_errors, should_skip
from parlour.memory.memory_job import MemoryJob
from parlour.memory.memory_policy import parse_memory_policy
from parlour.search.index import scheduling

#: Earlier episodes that a new one is compared with by its words.
_MAX_COMPARED_EPISODES = 50

#: Cosine distance of two episodes' vectors up to which they are one.
_MAX_DUPLICATE_DISTANCE = 0.08

_DUPLICATE_WINDOW = timedelta(days=30)


def run_extraction(dependencies: MemoryDependencies, memory_job: MemoryJob, seconds_left: SecondsLeft) -> None:
    """Extract from the session's new turns, as far as the time allows.

    A message that comes before they are due, or while another worker is at them, does nothing. Raises RetryError when
    the database is away.
    """
    job = ExtractionJob(dependencies, memory_job, dependencies.clock() + timedelta(seconds=seconds_left()))
    runner.run(job, dependencies.database, job.principal, seconds_left, MIN_ROUND_SECONDS)


@dataclass(frozen=True, slots=True)
class _ExtractionInput:
    """One window of turns, the known facts of its user, and how earlier attempts ended."""

    attempts: Attempts
    conversation: ExtractionSession
    window: ExtractionWindow
    known_facts: list[KnownFact]


@dataclass(frozen=True, slots=True)
class _ExtractionDraft:
    """What is to be written, with its ids: a commit may run twice."""

    checked_answer: CheckedAnswer
    fact_ids: Sequence[UUID]
    episode_ids: Sequence[tuple[UUID, UUID]]
    drafted_at: datetime


@dataclass(frozen=True, slots=True)
class _WriteResult:
    """What one commit wrote. has_more: turns follow the window."""

    row_count: int
    has_more: bool


class ExtractionJob(LeasedMemoryJob[_ExtractionInput, _ExtractionDraft, _WriteResult]):
    """The job of one session's new turns."""

    first_retry_delay: ClassVar[timedelta] = job_scheduling.EXTRACTION_DELAY
    failure_action: ClassVar[str] = "memory_extraction_failed"

    def is_due(self, tx: Transaction, due_at: datetime, now: datetime) -> bool:
        """Return whether the turns have waited long enough, or are many and no attempt at them failed."""
        backlog = store.read_backlog(tx, self.session_id)
        return due_at - SWEEP_DELAY <= now or (
            backlog.turn_count >= job_scheduling.MAX_WAITING_TURNS and not backlog.failures
        )

    def load(self, tx: Transaction) -> _ExtractionInput | None:
        """Read the next window. Complete the work when the session is gone, it has other readers, its agent
        has no memory, or there are no new turns."""
        attempts = self.start_attempt(tx)
        if attempts is None:
            return None
        session = store.find_session(tx, self.session_id)
        if session is not None and parse_memory_policy(session.memory_policy).max_facts > 0:
            next_turns = store.find_next_turns(
                tx, self.session_id, session.extraction_cursor, extraction_window.MAX_TURNS
            )
            if next_turns is not None:
                window = extraction_window.split_lines(
                    store.read_lines(
                        tx, self.session_id, session.earlier_cursor, next_turns.last_turn, session.classification
                    ),
                    session.extraction_cursor,
                    next_turns.last_turn,
                    is_full=next_turns.turn_count == extraction_window.MAX_TURNS,
                )
                return _ExtractionInput(attempts, session, window, fact_store.find_latest_facts(tx, session.scope))
        self.complete(tx)
        return None

    def ask(self, loaded: _ExtractionInput, seconds_left: SecondsLeft) -> _ExtractionDraft:
        """Ask a model, check its answer, and have a second look where it matters."""
        response = self._request_extraction(loaded, seconds_left)
        if response.problem and not should_skip(response.problem, loaded.attempts.failures):
            raise JobFailed(response.problem)
        checked_answer = window_reading.look_again(
            self.dependencies,
            self.principal,
            loaded.conversation.model_routing,
            window_reading.check_response(response, loaded.window, loaded.known_facts),
            loaded.window,
            seconds_left,
        )
        now = self.dependencies.clock()
        fact_ids = fact_merge.allocate_ids(checked_answer.candidates, checked_answer.rejected, now)
        return _ExtractionDraft(
            checked_answer, fact_ids, [(uuid7(now), uuid7(now)) for _ in checked_answer.episodes], now
        )

    def commit(self, tx: Transaction, loaded: _ExtractionInput, draft: _ExtractionDraft) -> _WriteResult | None:
        """Write facts and episodes; complete the work, or leave it to wait when more was said meanwhile."""
        if not self.end_attempt(tx):
            return None
        checked_answer, conversation, window = draft.checked_answer, loaded.conversation, loaded.window
        batch = fact_merge.FactBatch(
            checked_answer.candidates, checked_answer.rejected, draft.fact_ids, checked_answer.doubted_ids
        )
        stored_facts = fact_merge.merge_candidates(
            tx, conversation.scope, self.session_id, None, batch, draft.drafted_at
        )
        new_episodes = self._write_episodes(tx, conversation, draft)
        if new_episodes:
            scheduling.schedule_embedding(tx, self.job.tenant_id, draft.drafted_at)
        store.advance_extraction_cursor(tx, self.session_id, window.until_turn, draft.drafted_at)
        has_more = store.find_next_turns(tx, self.session_id, window.until_turn, 1) is not None
        if not has_more:
            self.complete(tx)
            consolidation_job.schedule_consolidation(tx, self.session_id)
        elif not window.is_full:
            self.reschedule(tx, job_scheduling.sweep_due_at(draft.drafted_at))
        return _WriteResult(len(stored_facts) + new_episodes, has_more)

    def report(self, loaded: _ExtractionInput, draft: _ExtractionDraft, result: _WriteResult) -> bool:
        """Log, wake the embedder, and have a message come for what was said meanwhile."""
        log.info(
            "memory_extraction_finished",
            turns=len({line.turn_number for line in loaded.window.lines}),
            kept=result.row_count,
            refused=len(draft.checked_answer.rejected),
            **self.log_ids,
        )
        if draft.checked_answer.episodes:
            self.wake_embedder()
        if result.has_more and not loaded.window.is_full:
            job_scheduling.send_jobs(
                self.dependencies.memory_queue, [DelayedJob(self.job, job_scheduling.EXTRACTION_DELAY.total_seconds())]
            )
        return result.has_more and loaded.window.is_full

    def _request_extraction(
        self, loaded: _ExtractionInput, seconds_left: SecondsLeft
    ) -> MemoryResponse[ExtractionAnswer]:
        """Ask a model, unless the user said nothing, there is no model, or our own code broke too often."""
        if not loaded.window.user_lines:
            return MemoryResponse(window_reading.NO_PROPOSALS)
        if is_failing_on_own_errors(loaded.attempts):
            return MemoryResponse(None, loaded.attempts.problem or "")
        agent, routing = loaded.conversation.agent_name, loaded.conversation.model_routing
        question = prompt.user_prompt(extraction_window.render_transcript(loaded.window, agent), loaded.known_facts)
        request = window_reading.extraction_request(prompt.system_prompt(agent), question, "cheap")
        return model_call.request_answer(self.dependencies, self.principal, routing, request, seconds_left)

    def _write_episodes(self, tx: Transaction, session: ExtractionSession, draft: _ExtractionDraft) -> int:
        """Write the episodes, each into an earlier one that says nearly the same, if any. Return how many are new."""
        for pair in store.find_similar_episodes(
            tx, session.scope, draft.drafted_at - _DUPLICATE_WINDOW, _MAX_DUPLICATE_DISTANCE, _MAX_COMPARED_EPISODES
        ):
            if episodes.has_same_figures(pair.newer_text, pair.older_text):
                store.merge_episodes(tx, pair.newer_id, pair.older_id)
        new_episodes = draft.checked_answer.episodes
        earlier = store.list_recent_episodes(tx, session.scope, _MAX_COMPARED_EPISODES) if new_episodes else []
        added_count = 0
        for episode, ids in zip(new_episodes, draft.episode_ids, strict=True):
            similar_id = episodes.find_similar(episode.text, earlier)
            if similar_id is not None:
                store.merge_into_episode(tx, similar_id, episode.message_ids, episode.until_at)
                continue
            row = episodes.context_row(episode.text, session.title, episode.until_at, session.classification)
            store.add_episode(tx, session.scope, self.session_id, episode, row, ids, draft.drafted_at)
            earlier.append(episodes.StoredEpisode(ids[0], episode.text))
            added_count += 1
        return added_count
