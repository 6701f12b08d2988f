"""One turn, from the wake-up to the reply. Resumed after a crash it goes on from what is committed."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Literal
from uuid import UUID

from parlour.channels import outbox
from parlour.channels.read_receipts import ReceivedMessageRow
from parlour.conversations import approval_answers, approval_requests, canned_replies, store, turn_openings
from parlour.conversations.canned_replies import CannedTexts
from parlour.conversations.event_feed import EventFeed, tell_of_beginning
from parlour.conversations.failed_turns import TurnProblemCode
from parlour.conversations.inbound_messages import SessionWakeup
from parlour.conversations.interim_line import InterimLine
from parlour.conversations.journal import STOPPED, AskPerson, CallModel, Reply, RunTools, next_step
from parlour.conversations.loaded_turn import LoadedTurn, link_hosts, load_turn
from parlour.conversations.message_joining import join_new_messages
from parlour.conversations.reply import Answer, commit_answer
from parlour.conversations.rows import InboundMessage, Lease, OpenTurn, TurnEnd
from parlour.conversations.stage_timer import StageTimer
from parlour.conversations.step import ask_model
from parlour.conversations.tool_execution import run_requested_tools
from parlour.conversations.turn_context import TurnContext, TurnDependencies
from parlour.conversations.turn_recall import add_recalled_items
from parlour.conversations.typing_indicator import show_typing
from parlour.infra import log
from parlour.infra.errors import (
    LeaseHeld,
    LeaseLost,
    Misconfigured,
    PromptOverflow,
    ProviderRejected,
    ProviderUnavailable,
    QueueUnavailable,
    RetryError,
    SpendRefused,
    StatementTooSlow,
)
from parlour.infra.ids import uuid7
from parlour.infra.postgres import Transaction
from parlour.infra.queues import QueueMessage
from parlour.jobs import work_due
from parlour.jobs.renewal import lease_end, renew_lease
from parlour.jobs.work_due import SWEEP_DELAY, DueWork
from parlour.principal import Principal, system_principal
from parlour.search.citation_numbers import list_numbered_sources
from parlour.text.citation_markers import CitationStream
from parlour.tools.calls import dispatch_message

_SHARE_WAIT_SECONDS = (3.0, 8.0)
"""How long a session waits, at random, while its tenant has as many turns under way as it may."""

MAX_ATTEMPTS = 3
"""A turn begun more often than this has failed: its inputs are parked and the user hears a polite line."""


def run_session(dependencies: TurnDependencies, wakeup: SessionWakeup, seconds_left: Callable[[], float]) -> None:
    """Answer what is unanswered in the session, if anything is.

    The lease is renewed while the turn runs, until the invocation's deadline at the latest. A wake that finds another
    worker at the session is left to it: that one looks again when its turn ends. Raises RetryError or whatever
    unexpected broke the turn, so that the wake is delivered again; after three attempts the turn is failed instead. An
    attempt that a RetryError ended (the database was away, or the time was over, say) is not the turn's fault and is
    not counted; one that a statement ended which takes too long is.
    """
    principal = system_principal(wakeup.tenant_id)
    running = _begin_turn(dependencies, principal, wakeup, seconds_left)
    if running is None:
        # A reply whose sender was never woken, because the worker died after its commit, is sent on now.
        waiting = dependencies.database.run(principal, lambda tx: outbox.list_pending(tx, session_id=wakeup.session_id))
        for row in waiting:
            outbox.send_wakeup(dependencies.outbox_queue, principal.tenant_id, wakeup.session_id, row.id, row.attempts)
        return
    # The wake of a resumed turn may have been a later message's, used up by the turn that an earlier worker left open.
    has_more = not running.turn.is_new
    try:
        with (
            show_typing(dependencies.read_receipts, running.newest_received),
            renew_lease(
                dependencies.database,
                principal.tenant_id,
                lambda tx, until: store.renew_lease(tx, running.lease, until),
                dependencies.clock,
                seconds_left,
                InterimLine(running).send_if_due,
            ),
        ):
            answer = _produce_answer(running)
            has_more |= commit_answer(running, _with_questions(running, answer))
    except LeaseLost:
        log.warning("lease_lost", tenant_id=principal.tenant_id, turn_id=running.turn.id)
        _release_session(running, counts_attempt=True)
    except RetryError as problem:
        _release_session(running, counts_attempt=isinstance(problem, StatementTooSlow))
        raise
    except Exception as problem:
        log.error("turn_attempt_failed", problem, turn_id=running.turn.id, attempt=running.turn.attempt_count)
        if running.turn.attempt_count < MAX_ATTEMPTS or not _commit_failure(running):
            _release_session(running, counts_attempt=True)
            raise
        has_more = True  # a wake may have been left to this worker meanwhile
    if has_more:
        run_session(dependencies, wakeup, seconds_left)


def _postpone_above_share(
    tx: Transaction, dependencies: TurnDependencies, tenant_id: UUID, session_id: UUID, now: datetime
) -> DueWork | None:
    """Make the session due in a moment when its tenant holds as many workers as it may, else return None.

    The message that brought the wake-up is done: it neither holds a worker nor counts towards the dead letters.
    """
    if store.count_running_turns(tx, session_id, now) < dependencies.max_tenant_turns:
        return None
    later = now + timedelta(seconds=dependencies.jitter(*_SHARE_WAIT_SECONDS))
    work_due.schedule(tx, "session", session_id, later)
    return DueWork(tenant_id, "session", session_id, later)


def _wake_postponed(dependencies: TurnDependencies, postponed: DueWork | None, now: datetime) -> None:
    if postponed is not None:
        log.count("TurnPostponed")
        dependencies.wakeup_queue.send(postponed.to_json(), (postponed.due_at - now).total_seconds())


def _commit_failure(turn_context: TurnContext) -> bool:
    """Say that it failed; False when it was answered by then, and only what comes after that broke."""
    try:
        commit_answer(turn_context, _with_questions(turn_context, _failed_answer("unexpected_error")))
    except LeaseLost:
        return False
    return True


def _begin_turn(
    services: TurnDependencies, principal: Principal, wakeup: SessionWakeup, seconds_left: Callable[[], float]
) -> TurnContext | None:
    """Take the lease and open or resume the turn; committed before anything can go wrong, so attempts are counted.

    None when there is nothing to answer, or not now. Raises LeaseHeld for the redelivered wake of a session that a
    worker still holds: that one may have died a moment ago, and then this wake is the session's last.
    """
    now, session_id = services.clock(), wakeup.session_id
    until, holder, turn_id = lease_end(now, seconds_left), uuid7(now), uuid7(now)
    deadline = now + timedelta(seconds=seconds_left())
    approved: list[QueueMessage] = []

    def begin(
        tx: Transaction,
    ) -> tuple[Lease, OpenTurn, tuple[InboundMessage, ...], ReceivedMessageRow | None] | Literal["held"] | None:
        lease = store.acquire_lease(tx, session_id, holder, now, until, deadline)
        if lease is None:
            _leave_wake(tx, principal, session_id, now)
            return "held"
        if lease.has_open_questions:
            approved[:] = approval_answers.take_answers(tx, principal.tenant_id, lease, now)
        turn = store.open_or_resume_turn(tx, lease, turn_id, now)
        if turn is None:
            store.release_lease(tx, lease)
            return None
        if inputs := store.list_input_messages(tx, turn.id):
            is_followed = _is_followed(lease, inputs)
            told = tell_of_beginning(tx, lease, turn, now) if is_followed else lease
            has_received = any(one.channel != "web" for one in inputs)
            return told, turn, tuple(inputs), store.find_newest_received(tx, turn.id) if has_received else None
        # A turn whose messages are gone has nothing to say; left open, it would stand before all that comes
        # after it.
        log.warning("empty_turn_closed", turn_id=turn.id, session_id=lease.id)
        store.finish_turn(tx, lease, turn.id, TurnEnd("answered", now, problem="no_messages"), {})
        return begin(tx)  # what was written since is a turn of its own

    begun = services.database.run(
        principal,
        lambda tx: _postpone_above_share(tx, services, principal.tenant_id, session_id, now) or begin(tx),
    )
    _send_approved_calls(services, approved)
    if begun == "held":
        if wakeup.is_redelivered:
            raise LeaseHeld
        return None
    if not isinstance(begun, tuple):
        _wake_postponed(services, begun, now)
        return None
    lease, turn, inputs, newest_received = begun
    stages = StageTimer(services.clock)
    stages.add_between("wait", inputs[0].received_at, now)
    feed = EventFeed(principal, services.database, lease, turn.id, services.clock, _is_followed(lease, inputs))
    feed.stop.record(turn.stop_cause)
    return TurnContext(services, lease, turn, inputs, feed, stages, seconds_left, newest_received)


def _leave_wake(tx: Transaction, principal: Principal, session_id: UUID, now: datetime) -> None:
    """Leave the wake to the worker that holds the session; LeaseHeld when that one ended between two looks."""
    is_held = store.leave_wake(tx, session_id, now)
    if is_held is None:
        log.warning("session_not_found", tenant_id=principal.tenant_id, session_id=session_id)
    if is_held is False:
        raise LeaseHeld(retry_after=1)


def _is_followed(lease: Lease, inputs: Sequence[InboundMessage]) -> bool:
    """Whether somebody may follow the turn on the web; a phone's session that was joined is on both channels."""
    return "web" in {lease.channel, *(one.channel for one in inputs)}


def _send_approved_calls(services: TurnDependencies, approved: Sequence[QueueMessage]) -> None:
    """Wake the dispatcher for calls that the user agreed to; if that fails, the sweep does it."""
    try:
        if approved:
            services.tool_queue.send(approved)
    except QueueUnavailable as problem:
        log.warning("approved_call_wake_failed", code=problem.code)


def _produce_answer(turn_context: TurnContext) -> Answer:
    """Return the turn's answer: a canned reply when the model is not to be asked or cannot be, else what it said.

    A turn that fails is the exception: its reply is a line alone, because somebody may have it go on later.
    """
    if turn_context.turn.attempt_count > MAX_ATTEMPTS:
        return _failed_answer("too_many_attempts")
    try:
        loaded, late_button_text = _load_turn(turn_context)
        is_open = loaded.persona.tenant.status == "active" and loaded.access.is_admitted
        line = canned_replies.canned_reply(turn_context.input_messages, turn_context.canned_texts, is_open=is_open)
        line = line or late_button_text
        if line is not None:
            return Answer(line)
        texts = [one.body for one in turn_context.input_messages if one.kind == "text"]
        if turn_openings.names_a_person(texts, loaded.persona.binding.inbox):
            return Answer("", opens="words")
        turn_context.feed.add_event(
            "session",
            {
                "turn_id": str(turn_context.turn.id),
                "number": turn_context.turn.number,
                "answered_by": loaded.persona.binding.display_name,
            },
        )
        approval_requests.add_closed_events(turn_context)
        add_recalled_items(turn_context, loaded)
        return _run_steps(turn_context, loaded)
    except PromptOverflow as problem:
        # A line that says what is too large, where that is the user's to shorten; the operator is told
        # which layer it is and by how much.
        code = f"{problem.code}_{problem.layer}"
        log.error(
            "turn_degraded",
            problem,
            turn_id=turn_context.turn.id,
            code=code,
            tokens=problem.tokens,
            left=problem.budget,
        )
        log.count("DegradedTurn")
        wrote = turn_context.prompt_builder is not None and turn_context.prompt_builder.has_written
        size = f"takes {problem.tokens:,} tokens, {max(0, problem.budget):,} are left"
        line = canned_replies.overflow_reply(problem.layer, has_written=wrote)
        return _unfinished_answer(turn_context, line, code, detail=size)
    except (ProviderUnavailable, ProviderRejected, Misconfigured, SpendRefused) as problem:
        log.error("turn_degraded", problem, turn_id=turn_context.turn.id, code=problem.code)
        log.count("DegradedTurn")
        line = turn_context.canned_texts.find(canned_replies.degraded_cause(problem))
        return _unfinished_answer(turn_context, line, problem.code)


def _load_turn(turn_context: TurnContext) -> tuple[LoadedTurn, str | None]:
    """Return the turn's material, and the reply to buttons of questions that were closed before, if it is nothing else.

    A heavy call that may never have reached its queue is sent again.
    """
    services, now = turn_context.dependencies, turn_context.dependencies.clock()
    transact = partial(services.database.run, turn_context.feed.principal)

    def read(tx: Transaction) -> tuple[LoadedTurn, str | None]:
        loaded = load_turn(tx, turn_context, now, read_in_own_transaction=transact)
        languages = canned_replies.order_languages(loaded.persona.human.languages, loaded.recent_user_texts)
        turn_context.canned_texts = CannedTexts.of_persona(loaded.persona, languages)
        return loaded, approval_answers.late_button_text(
            tx, turn_context.canned_texts, turn_context.turn.id, turn_context.lease.user_id
        )

    with turn_context.stage_timer.measure("load"):
        loaded, late_button_text = transact(read)
    turn_context.unfinished_calls.update(loaded.unfinished_calls)
    turn_context.prompt_builder, turn_context.tools = loaded.prompt_builder, loaded.tools
    turn_context.access, turn_context.journal = loaded.access, loaded.journal
    turn_context.has_untrusted_text = approval_requests.has_untrusted_text(turn_context, loaded)
    if turn_context.feed.is_followed:
        turn_context.feed.citations = _citation_stream(turn_context, loaded)
    turn_context.link_hosts = turn_context.feed.link_filter.allowed_hosts = link_hosts(loaded.persona.tenant.settings)
    tenant_id = turn_context.feed.principal.tenant_id
    waiting = [
        dispatch_message(tenant_id, call_id, turn_context.turn.attempt_count)
        for call_id in loaded.undispatched_call_ids
    ]
    if waiting:
        services.tool_queue.send(waiting)
    return loaded, late_button_text


def _citation_stream(turn_context: TurnContext, loaded_turn: LoadedTurn) -> CitationStream:
    """Return what numbers the citations of the turn for its reader; it goes on after what the turn has said."""
    feed, session_id = turn_context.feed, turn_context.lease.id

    def find_known(numbers: Collection[int]) -> set[int]:
        def read(tx: Transaction) -> set[int]:
            sources = list_numbered_sources(loaded_turn.principal, tx, session_id, numbers)
            return {source.number for source in sources}

        return feed.database.run(feed.principal, read)

    stream = CitationStream(find_known)
    stream.add(loaded_turn.journal.text, block=0)
    return stream


def _run_steps(turn_context: TurnContext, loaded_turn: LoadedTurn) -> Answer:
    reader = loaded_turn.principal
    while True:
        journal = turn_context.journal
        match next_step(journal):
            case CallModel() as step:
                if turn_context.stop.cause:
                    state: Literal["answered", "stopped"] = "answered" if journal.is_question else "stopped"
                    return Answer(journal.text, state=state, reader=reader)
                turn_context.require_time()
                turn_context.journal = ask_model(turn_context, loaded_turn, journal, step)
            case RunTools() as step:
                journal = run_requested_tools(turn_context, loaded_turn, journal, step)
                turn_context.journal = join_new_messages(turn_context, journal, loaded_turn.persona.binding)
                loaded_turn.prompt_builder.set_tool_rounds(loaded_turn.tool_rounds(turn_context.journal))
            case AskPerson(text, is_cut):
                turn_context.feed.set_state("waiting")
                ending = turn_context.canned_texts.find("reply_cut") if is_cut else ""
                return Answer(
                    text,
                    closing_line=ending or approval_requests.changes_text(turn_context, loaded_turn),
                    reader=reader,
                )
            case Reply(text) if turn_context.stop.cause and journal.steps[-1].stop_reason == STOPPED:
                return Answer(text, state="stopped", reader=reader)
            case Reply(text, is_answer=True, is_cut=is_cut):
                closing_line = turn_context.canned_texts.find("reply_cut") if is_cut else ""
                return Answer(text, closing_line=closing_line, reader=reader)
            case Reply():
                return _unfinished_answer(turn_context, canned_replies.NO_ANSWER_REPLY, "no_answer")


def _with_questions(turn_context: TurnContext, answer: Answer) -> Answer:
    """Return the answer with the open questions. A stopped one asks nothing."""
    if answer.state == "stopped":
        return answer
    questions = approval_requests.open_questions(turn_context)
    return replace(answer, is_question=turn_context.journal.is_question, questions=questions)


def _unfinished_answer(turn_context: TurnContext, line: str, problem: str, *, detail: str = "") -> Answer:
    """Return what the model had said when it could not go on, and the line that says so."""
    reader = turn_context.access.principal if turn_context.access else None
    text = turn_context.journal.text
    return Answer(text, closing_line=line, degraded=True, problem=problem, detail=detail, reader=reader)


def _failed_answer(problem: TurnProblemCode) -> Answer:
    log.count("FailedTurn")
    return Answer(canned_replies.FAILED_REPLY, state="failed", degraded=True, problem=problem)


def _release_session(turn_context: TurnContext, *, counts_attempt: bool) -> None:
    """Free the session for the next delivery, if it is still ours, and the worker's place in its tenant's share; if
    even that fails, both end by themselves.

    The sweep leaves the session to that delivery, which waits longer after each attempt.
    """
    lease, principal = turn_context.lease, turn_context.feed.principal
    later = turn_context.dependencies.clock() + SWEEP_DELAY

    def release(tx: Transaction) -> None:
        store.release_lease(tx, lease)
        if work := work_due.find(tx, "session", lease.id):
            work_due.reschedule(tx, work, later)
        if not counts_attempt:
            store.refund_attempt(tx, lease, turn_context.turn.id)

    try:
        turn_context.dependencies.database.run(principal, release)
    except RetryError as problem:
        log.warning("lease_release_failed", tenant_id=principal.tenant_id, session_id=lease.id, code=problem.code)
