"""The end of a turn: one transaction with the reply and everything that belongs to it, then the messages it causes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.approvals import approvals
from parlour.channels import outbox
from parlour.channels.outbox import PendingReply
from parlour.conversations import citations, handoffs, memory_writes, stop_requests, store, turn_openings
from parlour.conversations.approval_requests import NO_QUESTIONS, OpenQuestions
from parlour.conversations.canned_replies import CHANGES_KEPT_SUFFIX
from parlour.conversations.citations import CheckedReply
from parlour.conversations.cited_figures import CitedFigures
from parlour.conversations.handoff_rules import HAND_OFF
from parlour.conversations.outgoing_links import filter_links
from parlour.conversations.rows import Citation, NewReply, TurnEnd
from parlour.conversations.turn_context import TurnContext
from parlour.inbox import events, threads
from parlour.inbox.thread import ThreadReason
from parlour.infra import log
from parlour.infra.errors import LeaseLost, QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_json
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.jobs.work_due import DueWork
from parlour.memory import job_scheduling
from parlour.memory.agent_state import state_writer
from parlour.memory.job_scheduling import DelayedJob
from parlour.memory.recall import recall
from parlour.notifications import notifications
from parlour.principal import Principal
from parlour.search.citation_numbers import NumberedSource, list_numbered_sources
from parlour.search.index import scheduling
from parlour.tools import calls


@dataclass(frozen=True, slots=True)
class Answer:
    """A turn's reply and how the turn ended; of a stopped one, what it had of a reply.

    text     what the model said in all steps (docs/decisions/0071), or the line that is sent in its place.
    closing_line  what follows the text where the turn could not go on.
    problem  a code for operators, None when all went well; detail: what more operators read about it.
    reader   as whom the model was asked, whose sources it may cite; without one it cites nothing.
    opens    why the conversation now waits for a person, whatever the turn's tool calls say.
    is_question  whether the turn ended because a person is asked about a call.
    questions    the open questions, which follow the text.
    """

    text: str
    closing_line: str = ""
    state: Literal["answered", "failed", "stopped"] = "answered"
    degraded: bool = False
    problem: str | None = None
    reader: Principal | None = None
    detail: str = ""
    opens: ThreadReason | None = None
    is_question: bool = False
    questions: OpenQuestions = NO_QUESTIONS

    def body(self, text: str, notice: str) -> str:
        """Return what the user reads: the text as it was checked, the other parts as they are."""
        return "\n\n".join(filter(None, (text, self.closing_line, self.questions.text, notice)))

    def question_span(self, text: str) -> tuple[int, int] | None:
        """Return from which character of the body to which the questions are; None without questions."""
        if not self.questions.text:
            return None
        end = len("\n\n".join(filter(None, (text, self.closing_line, self.questions.text))))
        return end - len(self.questions.text), end

    @property
    def reason(self) -> str | None:
        """The problem as the turn keeps it."""
        return f"{self.problem}: {self.detail}" if self.problem and self.detail else self.problem


@dataclass(frozen=True, slots=True)
class _Committed:
    """What follows the commit: memory jobs, notifications and deliveries to send, oldest first, so that none overtakes
    another."""

    removed_citations: int
    has_pending_wake: bool
    jobs: list[DelayedJob]
    deliveries: list[PendingReply]
    notifications: list[DueWork]


def commit_answer(running: TurnContext, answer: Answer) -> bool:
    """Commit the reply with everything that belongs to it, end the turn, release the session, then wake the others.

    Return whether another worker left a wake of the session to this one. After the commit the turn is over: when a
    message to a queue is lost, the sweep or the next wake of the session sends it again.

    Raises:
        LeaseLost: a newer worker has the session, or the turn was over already and keeps the reply that it has.
    """
    services, lease, turn, prompting = running.dependencies, running.lease, running.turn, running.prompt_builder
    tenant_id, last_input = running.feed.principal.tenant_id, running.input_messages[-1]
    now = services.clock()
    reply_id, outbox_id, notice_id, handoff_id = (uuid7(now) for _ in range(4))
    text = _without_foreign_links(running, answer.text)  # questions are exact: they keep their links and brackets
    recipient = None if last_input.channel == "web" else last_input.reply_address
    end = TurnEnd(answer.state, now, answer.degraded, answer.reason)
    if prompting is not None:
        end = replace(end, called=prompting.history_messages(), cache_state=prompting.next_cache_state())
    facts = memory_writes.plan_fact_writes(running, now) if answer.state != "failed" else None
    usage = memory_writes.plan_usage_writes(running, answer.text if answer.reader else "")
    summary_job = memory_writes.plan_summary_job(running, answer.body(text, ""))
    if answer.problem:
        running.feed.add_event("error", {"code": answer.problem, "message": answer.closing_line or answer.text})
    running.feed.add_event("done", {"message_id": str(reply_id), "turn_id": str(turn.id), "state": answer.state})

    with running.stage_timer.measure("save") as took:

        def commit(tx: Transaction) -> _Committed:
            sources, figures = _read_sources(tx, running, answer, text)
            _give_up_unfinished_effects(tx, running, now)
            notice = _settle_inbox(tx, running, answer, now)
            cited = citations.check_citations(text, sources, figures)
            metadata = (
                _post_questions(tx, lease.id, answer, cited.text, now)
                | _citation_metadata(running, cited)
                | _own_length(answer, cited.text, notice)
            )
            is_first = store.insert_reply(
                tx,
                lease,
                turn.id,
                NewReply(reply_id, last_input.channel, answer.body(cited.text, notice), metadata, now),
            )
            _insert_citations(tx, running, reply_id, [sources[number] for number in cited.numbers])
            # Facts come before their usage: writing facts takes their user's lock first, and rows of facts after it.
            jobs: list[DelayedJob] = []
            if facts is not None:
                memory_writes.write_facts(tx, running, facts, now)
                jobs += memory_writes.schedule_extraction(tx, running, now)
            recall.record_recalls(tx, turn.id, usage.recalled, now)
            state_writer.record_tool_changes(tx, lease.id, usage.record_changes, now)
            if summary_job and job_scheduling.request_summary(tx, lease.id, now):
                jobs.append(summary_job)
            deliveries: list[PendingReply] = []
            sent_id = reply_id if answer.state != "stopped" else _end_stopped(tx, running, notice_id, notice, now)
            is_held = sent_id is not None and events.record_message(tx, lease.id, sent_id, "agent", "agent", now)
            if recipient is not None and sent_id is not None:
                delivery = outbox.NewDelivery(
                    outbox_id, lease.id, sent_id, lease.binding_id, last_input.channel, recipient
                )
                outbox.enqueue(tx, delivery, now)
                deliveries = outbox.list_pending(tx, session_id=lease.id)
            is_continued = not notice and _continue_at_new_desk(tx, running, answer, handoff_id, now)
            closed = store.finish_turn(tx, lease, turn.id, end, {**running.stage_timer.milliseconds, "save": took()})
            if is_first and closed is None:  # a repeat of this very commit finds its own reply, and its turn over
                raise LeaseLost
            pending = notifications.list_pending(tx, lease.id) if is_held else []
            # A repeat cannot tell, so it says yes: that only costs a look.
            has_pending_wake = closed is None or closed.has_pending_wake or is_continued
            return _Committed(cited.removed_count, has_pending_wake, jobs, deliveries, pending)

        committed = running.feed.commit(commit)

    log.info(
        "turn_finished",
        tenant_id=tenant_id,
        turn_id=turn.id,
        state=answer.state,
        degraded=answer.degraded,
        problem=answer.problem,
        removed_citations=committed.removed_citations,
    )
    _wake_others(running, answer, committed, now)
    return committed.has_pending_wake


def _continue_at_new_desk(
    tx: Transaction, running: TurnContext, answer: Answer, message_id: UUID, now: datetime
) -> bool:
    """Have the new desk answer the user's message where the turn handed over, and no other person is awaited."""
    if answer.state != "answered" or answer.is_question or answer.problem or answer.opens:
        return False
    journal = running.journal
    was_handed_over = any(
        request.name == HAND_OFF and journal.results_of_step(step.number).get(request.call_id, {}).get("handed_to")
        for step in journal.steps
        for request in step.tool_requests
    )
    return was_handed_over and handoffs.continue_at_new_desk(tx, running.turn.id, message_id, now)


def _wake_others(running: TurnContext, answer: Answer, committed: _Committed, now: datetime) -> None:
    services, tenant_id = running.dependencies, running.feed.principal.tenant_id
    for delivery in committed.deliveries:
        outbox.send_wakeup(services.outbox_queue, tenant_id, running.lease.id, delivery.id, delivery.attempts)
    try:
        scheduling.wake_embedder(services.embedding_queue, tenant_id)
    except QueueUnavailable as problem:
        log.warning("embedder_wake_failed", tenant_id=tenant_id, code=problem.code)
    job_scheduling.send_jobs(services.memory_queue, committed.jobs)
    notifications.send_wakeups(services.wakeup_queue, committed.notifications, now)
    if running.stop.cause and answer.state != "stopped":  # it came too late; what it silenced is answered now
        work_due.send_wakeup(services.wakeup_queue, DueWork(tenant_id, "session", running.lease.id, now), now)


def _read_sources(
    tx: Transaction, running: TurnContext, answer: Answer, text: str
) -> tuple[dict[int, NumberedSource], CitedFigures]:
    """Return the sources that a reply may cite, by number, and what they say."""
    named = citations.cited_numbers(text) if answer.reader else set()
    if answer.reader is None or not named:
        return {}, CitedFigures()
    shown = _shown_texts(running)
    sources = {
        source.number: source
        for source in list_numbered_sources(answer.reader, tx, running.lease.id, named | shown.keys())
    }
    user_texts = (f"{running.turn.frozen_at:%Y-%m-%d}", *(message.body for message in running.input_messages))
    return sources, CitedFigures(
        {number: shown_text for number, shown_text in shown.items() if number in sources},
        {source.number: f"{source.title} {source.locator}\n{source.content}" for source in sources.values()},
        "\n".join(user_texts),
    )


def _shown_texts(running: TurnContext) -> dict[int, str]:
    """Return what the turn's results showed of each numbered document, by its number."""
    rounds = running.prompt_builder.tool_rounds if running.prompt_builder else ()
    texts: dict[int, str] = {}
    for result in (result for tool_round in rounds for _, result in tool_round.results):
        lists = [value for value in result.values() if isinstance(value, list)]
        items = [item for values in lists for item in values if isinstance(item, dict)]
        for item in (result, *items):
            if isinstance(number := item.get("n"), int):
                texts[number] = f"{texts.get(number, '')}\n{canonical_json({**item, 'n': None})}"
    return texts


def _citation_metadata(running: TurnContext, cited: CheckedReply) -> JsonObject:
    """Return what a reply keeps of its citations. One that was streamed and then removed shifts no other number."""
    streamed = running.feed.citations.cited_numbers if running.feed.citations else ()
    numbers = [*dict.fromkeys((*streamed, *cited.numbers))] if cited.numbers else []
    metadata: JsonObject = {"removed_citations": cited.removed_count, "cited_numbers": [*numbers]}
    return {name: value for name, value in metadata.items() if value}


def _insert_citations(tx: Transaction, running: TurnContext, reply_id: UUID, cited: Sequence[NumberedSource]) -> None:
    """Store the sources of a reply. A phone shows their titles below it, and would make links of addresses in them."""
    store.insert_citations(
        tx,
        [
            Citation(
                reply_id,
                source.number,
                source.row_id,
                _without_foreign_links(running, source.title),
                _without_foreign_links(running, source.locator),
            )
            for source in cited
        ],
    )


def _end_stopped(tx: Transaction, running: TurnContext, notice_id: UUID, notice: str, now: datetime) -> UUID | None:
    """End the heavy calls of a stopped turn. Return the line that is sent in place of half a reply, once stored.

    notice  what the user reads of the inbox; it is sent in any case, as no turn begins while a person is awaited.
    None on the web, where the reply itself was followed, and where the turn that answers a newer message follows.
    """
    stop_requests.stop_heavy_calls(tx, running.feed.principal.tenant_id, running.turn.id, now)
    channel = running.input_messages[-1].channel
    is_superseded = running.stop.cause == "message"
    if channel == "web" or (is_superseded and not notice):
        return None
    has_written = running.prompt_builder is not None and running.prompt_builder.has_written
    stopped = running.canned_texts.find("turn_stopped") + (CHANGES_KEPT_SUFFIX if has_written else "")
    body = "\n\n".join(filter(None, ("" if is_superseded else stopped, notice)))
    lease = running.lease
    store.insert_notice(
        tx, message_id=notice_id, session_id=lease.id, binding_id=lease.binding_id, channel=channel, body=body, now=now
    )
    return notice_id


def _settle_inbox(tx: Transaction, running: TurnContext, answer: Answer, now: datetime) -> str:
    """Forget the instruction that the reply followed, and open the conversation where the turn asks for a person.

    The instruction of a turn that was stopped, asks a person or could not go on is for the next one.
    """
    is_followed = answer.reader and answer.state != "stopped" and not (answer.is_question or answer.problem)
    if running.lease.instruction and is_followed:
        threads.clear_instruction(tx, running.lease.id, running.lease.instruction)
    asked: ThreadReason | None = "failed_turn" if answer.state == "failed" else answer.opens
    return turn_openings.settle_inbox(tx, running, asked, now)


def _post_questions(tx: Transaction, session_id: UUID, answer: Answer, text: str, now: datetime) -> JsonObject:
    """Record that the open questions are put to the user with this reply; return the message's metadata of them.

    {"question_span": from which character to which of the message they are, "buttons": those of a single question}
    """
    span = answer.question_span(text)
    if span is None:
        return {}
    approvals.mark_posted(tx, session_id, now)
    buttons = answer.questions.buttons
    return {"question_span": [*span], **({"buttons": [*buttons]} if buttons else {})}


def _own_length(answer: Answer, text: str, notice: str) -> JsonObject:
    """Return how many characters of a reply are the model's, where the runtime wrote the rest of it."""
    return {"own_chars": len(text)} if answer.reader and answer.body(text, notice) != text else {}


def _without_foreign_links(running: TurnContext, text: str) -> str:
    filtered = filter_links(text, running.link_hosts)
    if filtered.removed_count:
        log.warning("links_removed", turn_id=running.turn.id, count=filtered.removed_count)
        log.count("LinkRemoved")
    return filtered.text


def _give_up_unfinished_effects(tx: Transaction, running: TurnContext, now: datetime) -> None:
    """Mark the turn's own effects that have no outcome as unknown or cancelled: nobody comes back for them.

    Some are left where a binding was switched off after a worker died at one, or after a step too many. A turn that
    neither asked for an effect nor was resumed has none.
    """
    if not running.unfinished_calls and running.turn.is_new:
        return
    if calls.give_up_calls(tx, running.turn.id, now):
        log.error("tool_call_outcome_unknown", turn_id=running.turn.id)
        log.count("UnknownEffect")
