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

from parlour.infra import log
from parlour.infra.errors import Misconfigured, NotFound
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import SecondsLeft, Transaction
from parlour.jobs import runner
from parlour.jobs.runner import JobFailed
from parlour.jobs.work_due import Attempts
from parlour.memory.agent_state import state_writer
from parlour.memory.dependencies import MemoryDependencies
from parlour.memory.leased_job import (
    MAX_FAILURES,
    MIN_ROUND_SECONDS,
    MODEL_REFUSED,
    LeasedMemoryJob,
    is_failing_on_own_errors,
    should_skip,
)
from parlour.memory.memory_job import MemoryJob
from parlour.memory.recall import recall
from parlour.memory.summaries import anchors, store, summary_answer, summary_window, turn_rows
from parlour.memory.summaries.key_details import is_in_text, key_details, parse_text
from parlour.memory.summaries.store import BaseSummaryRow, NewKeyDetail, NewSummary, SummarySessionRow
from parlour.memory.summaries.summary_answer import (
    MAX_ANSWER_TOKENS,
    CheckedSummary,
    InvalidModelAnswer,
    SummaryRequest,
)
from parlour.memory.summaries.summary_window import MAX_TURNS, WindowTurn
from parlour.models.background_completion import CompletionRequest, CompletionResult
from parlour.models.model import Model, ModelRequest
from parlour.models.model_routing import OFFLINE_PROVIDER, ModelChoice, choose_models, filter_available
from parlour.prompts.assembly import budget
from parlour.prompts.assembly.budget import MESSAGING_PROFILE, BudgetProfile
from parlour.prompts.assembly.segment import Layer, text_content
from parlour.search.index import scheduling
from parlour.tenancy import bindings, users
from parlour.tenancy.bindings import Persona
from parlour.text import token_counter

#: What these calls are for, as the report of costs calls it.
SUMMARY_PURPOSE = "summary"

#: After the first failure; twice the time after which the sweep looks for work.
FIRST_RETRY_DELAY = timedelta(minutes=10)

#: What a model may take, and what is left of an invocation for the commit.
_MODEL_TIMEOUT_SECONDS, _COMMIT_SECONDS = 60.0, 10.0

#: Lines that a new summary is held against, those that were said last; older ones stay as they were judged.
_MAX_CHECKED_DETAILS = 400

#: Lines that the summary so far has lost and its writer is reminded of.
_MAX_LOST_DETAILS = 20


def run_summary(dependencies: MemoryDependencies, memory_job: MemoryJob, seconds_left: SecondsLeft) -> None:
    """Bring the session's summary up to date, if one is wanted and its time has come.

    Raises RetryError when the database is away; what is wrong with models is written down, and tried again later.
    """
    job = SummaryJob(
        dependencies, memory_job, dependencies.clock() + timedelta(seconds=seconds_left()), dependencies.models()
    )
    runner.run(job, dependencies.database, job.principal, seconds_left, MIN_ROUND_SECONDS)


@dataclass(frozen=True, slots=True)
class _SummaryInput:
    """Everything for one stretch: the session, the agent's notes, the summary that it goes on from, the turns, and who
    is asked."""

    attempts: Attempts
    session: SummarySessionRow
    agent_state: JsonObject
    lost_details: Sequence[str]
    clearance: int
    base_summary: BaseSummaryRow
    window: Sequence[WindowTurn]
    model_choices: Sequence[ModelChoice]

    @property
    def is_offline(self) -> bool:
        return self.model_choices[0].provider == OFFLINE_PROVIDER


@dataclass(frozen=True, slots=True)
class _ModelOutcome:
    """What came of asking: what holds of the answer, or the code of the problem."""

    summary: CheckedSummary | None
    model_choice: ModelChoice
    cost_usd: Decimal = Decimal()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _SummaryDraft:
    """What is to be written, with its ids: a commit may run twice."""

    summary: CheckedSummary
    new_summary: NewSummary
    key_details: Sequence[NewKeyDetail]
    row_id: UUID
    drafted_at: datetime


@dataclass(frozen=True, slots=True)
class _WriteResult:
    """What one commit wrote. version: None when something that it tells of was deleted meanwhile."""

    version: int | None
    rejected_updates: int = 0
    is_anchored: bool = False


@dataclass(frozen=True, slots=True)
class SummaryJob(LeasedMemoryJob[_SummaryInput, _SummaryDraft, _WriteResult]):
    """The job of one session's summary."""

    models: Mapping[str, Model]

    first_retry_delay: ClassVar[timedelta] = FIRST_RETRY_DELAY
    failure_action: ClassVar[str] = "summary_failed"

    def load(self, tx: Transaction) -> _SummaryInput | None:
        """Read the next stretch. Complete the work when nothing is left to take in, or the session is gone."""
        attempts = self.start_attempt(tx)
        if attempts is None:
            return None
        session = store.find_session(tx, self.session_id)
        persona = bindings.load_persona(tx, session.binding_id, session.user_id) if session else None
        if session is not None and persona is not None:
            try:
                clearance = users.persona_access(persona, is_by_phone=True).principal.clearance
                choices = filter_available(choose_models(persona.agent.model_routing, "cheap"), self.models)
            except (Misconfigured, NotFound) as problem:
                raise JobFailed(problem.code) from problem
            base = store.find_base_summary(
                tx, self.session_id, clearance, needs_text=choices[0].provider != OFFLINE_PROVIDER
            )
            turns = store.list_turns_after(tx, self.session_id, base.until_turn, clearance, MAX_TURNS + 1)
            taken = summary_window.next_window(
                [turn_rows.turn_from_row(row) for row in turns[:MAX_TURNS]],
                _max_history_tokens(persona),
                token_counter.count_tokens,
                has_later_turns=len(turns) > MAX_TURNS,
            )
            if taken:
                notes = recall.read_agent_state(tx, self.session_id, self.dependencies.clock())
                lost = store.list_lost_details(tx, self.session_id, _MAX_LOST_DETAILS)
                return _SummaryInput(attempts, session, notes, lost, clearance, base, taken, choices)
        self.complete(tx)
        return None

    def ask(self, loaded: _SummaryInput, seconds_left: SecondsLeft) -> _SummaryDraft:
        """Ask a model, and check its answer. A stretch that nobody will tell of is passed over with the old text."""
        asked = summary_answer.build_request(
            loaded.base_summary.text, loaded.agent_state, loaded.window, loaded.lost_details
        )
        outcome = self._request_summary(loaded, asked, seconds_left)
        failures, is_passed = loaded.attempts.failures, outcome.summary is None
        if is_passed:
            is_paid_often = outcome.cost_usd > 0 and failures >= MAX_FAILURES
            if not is_paid_often and not should_skip(outcome.problem, failures):
                raise JobFailed(outcome.problem)
            log.warning("summary_window_skipped", code=outcome.problem, **self.log_ids)
        now, base, taken = self.dependencies.clock(), loaded.base_summary, loaded.window
        written = outcome.summary or CheckedSummary(base.text)
        new = NewSummary(
            base_version=base.version,
            until_turn=taken[-1].number,
            text=written.text,
            included_message_ids=written.included_message_ids,
            omitted_message_ids=written.omitted_message_ids,
            message_count=base.message_count + sum(turn.message_count for turn in taken),
            turn_ids=[turn.id for turn in taken],
            reply_turn_ids=[turn.id for turn in taken if not (turn.is_reply_withheld or is_passed)],
            is_skipped=is_passed,
            provider=outcome.model_choice.provider,
            model=outcome.model_choice.model,
            cost_usd=outcome.cost_usd,
        )
        details = [
            NewKeyDetail(uuid7(now), message.id, turn.number, message.from_agent, one)
            for turn in taken
            for message in turn.messages
            for one in key_details(message.text)
        ]
        return _SummaryDraft(written, new, details, uuid7(now), now)

    def commit(self, tx: Transaction, loaded: _SummaryInput, draft: _SummaryDraft) -> _WriteResult | None:
        """Write the version with everything that belongs to it, unless something that it tells of was deleted."""
        if not self.end_attempt(tx):
            return None
        version = store.add_summary(tx, self.session_id, draft.new_summary, draft.drafted_at)
        if version is None:
            self.reschedule(tx, draft.drafted_at)
            return _WriteResult(None)
        written = draft.summary
        store.add_key_details(tx, self.session_id, draft.key_details, draft.drafted_at)
        # Which lines the new summary says itself: those of the stretch, and those that an older one said.
        said = parse_text(written.text)
        kept = store.list_newest_details(tx, self.session_id, _MAX_CHECKED_DETAILS)
        wrong = [
            row.id
            for row in kept
            if row.missing_from_summary == is_in_text(turn_rows.stored_key_detail(row.kind, row.value), said)
        ]
        if wrong:
            store.toggle_missing(tx, wrong)
        applied = state_writer.apply_summary_updates(
            tx,
            self.session_id,
            version,
            written.agent_state_item_updates,
            draft.drafted_at,
        )
        return _WriteResult(version, len(applied.rejected), self._write_anchor(tx, loaded, draft))

    def report(self, loaded: _SummaryInput, draft: _SummaryDraft, result: _WriteResult) -> bool:
        """Log, and wake the embedder for an anchor; what is left is taken in at once."""
        if result.version is None:
            return False
        log.info(
            "summary_written",
            **self.log_ids,
            version=result.version,
            turns=len(loaded.window),
            made_up=draft.summary.unsupported_sentences,
            strange=draft.summary.unknown_numbers,
            refused=result.rejected_updates,
        )
        if result.is_anchored:
            self.wake_embedder()
        return True

    def _request_summary(
        self, loaded: _SummaryInput, summary_request: SummaryRequest, seconds_left: SecondsLeft
    ) -> _ModelOutcome:
        """Ask a model for the summary and check its answer.

        Without a model the text is empty and only key details remain. Without messages the summary stays unchanged.
        """
        by = loaded.model_choices[0]
        if loaded.is_offline or not summary_request.message_ids_by_number:
            return _ModelOutcome(CheckedSummary("" if loaded.is_offline else loaded.base_summary.text), by)
        if is_failing_on_own_errors(loaded.attempts):
            return _ModelOutcome(None, by, problem=loaded.attempts.problem or "")
        messages = [_message("user", summary_request.user_prompt)]
        spent = Decimal()
        problem = ""
        for is_last in (False, True):
            given = self._ask_model(loaded, summary_request.system_prompt, messages, seconds_left)
            spent += given.cost_usd
            if given.problem is not None or given.completion is None or given.choice is None:
                code = given.problem.code if given.problem else "provider_unavailable"
                return _ModelOutcome(None, by, spent, code)
            by = given.choice
            if given.completion.stop_reason == "refusal":
                return _ModelOutcome(None, by, spent, MODEL_REFUSED)
            try:
                checked = summary_answer.check_answer(given.text, summary_request, is_last=is_last)
                return _ModelOutcome(checked, by, spent)
            except InvalidModelAnswer as unusable:
                problem = unusable.code
                messages += [
                    _message("assistant", given.text or "..."),
                    _message("user", summary_answer.retry_prompt(problem)),
                ]
        return _ModelOutcome(None, by, spent, problem)

    def _ask_model(
        self, loaded: _SummaryInput, system_prompt: str, messages: Sequence[JsonObject], seconds_left: SecondsLeft
    ) -> CompletionResult:
        request = ModelRequest(
            loaded.model_choices[0].model, MAX_ANSWER_TOKENS, (), (text_content(system_prompt),), tuple(messages)
        )
        size = token_counter.count_tokens(system_prompt) + sum(
            token_counter.count_tokens(str(message["content"])) for message in messages
        )
        return self.dependencies.background_completion.ask(
            self.principal,
            CompletionRequest(
                request,
                size,
                loaded.model_choices,
                self.models,
                SUMMARY_PURPOSE,
                max(1.0, min(_MODEL_TIMEOUT_SECONDS, seconds_left() - _COMMIT_SECONDS)),
                self.dependencies.check_reservation,
            ),
        )

    def _write_anchor(self, tx: Transaction, loaded: _SummaryInput, draft: _SummaryDraft) -> bool:
        """Write the anchor of what no anchor covers, where that is enough."""
        session, new = loaded.session, draft.new_summary
        if not anchors.is_due(new.message_count, session.anchored_message_count):
            return False
        since = store.find_last_anchored_turn(tx, self.session_id)
        later = store.list_turns_after(tx, self.session_id, since, loaded.clearance, anchors.MAX_ANCHOR_TURNS)
        turns = [turn_rows.turn_from_row(row) for row in later if row.number <= new.until_turn]
        number = session.anchor_count + 1
        row = anchors.build_anchor(
            turns, number, session.anchored_message_count + 1, session.title, session.agent_name, session.classification
        )
        store.set_anchor_counts(tx, self.session_id, number, new.message_count)
        if row is None:
            return False
        store.add_anchor(tx, draft.row_id, self.session_id, row, draft.drafted_at)
        scheduling.schedule_embedding(tx, self.job.tenant_id, draft.drafted_at)
        return True


def _message(role: str, text: str) -> JsonObject:
    return {"role": role, "content": [text_content(text)]}


def _max_history_tokens(persona: Persona) -> int:
    """Return the most tokens that the agent's history layer may have."""
    profile: BudgetProfile = MESSAGING_PROFILE
    with suppress(Misconfigured):
        profile = budget.resolve_profile(persona.agent.budget)
    return profile.limits_of(Layer.HISTORY).cap
