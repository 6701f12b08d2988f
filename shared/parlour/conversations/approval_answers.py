"""Answers to questions: typed or pressed in the conversation, or given through the API."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from parlour.approvals import approvals
from parlour.approvals.approvals import Answer, Outcome
from parlour.approvals.rows import Approval, ApprovalState
from parlour.approvals.typed_answer import parse_button_id, read_typed_answers
from parlour.conversations import inbox_messages, store
from parlour.conversations.canned_replies import CannedTexts, ReplyCause
from parlour.conversations.rows import Lease, UnreadAnswer
from parlour.conversations.tool_result_messages import PendingWakeup, store_tool_result
from parlour.infra.postgres import Transaction
from parlour.infra.queues import QueueMessage
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import DueWork
from parlour.principal import Principal, system_principal
from parlour.tools.calls import dispatch_message


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What an answer through the API came to, with what has to be sent once that is committed."""

    outcome: Outcome
    wakeup: PendingWakeup | None = None
    dispatch: QueueMessage | None = None


def answer_approval(
    principal: Principal, tx: Transaction, approval_id: UUID, given: Answer, now: datetime
) -> GivenAnswer:
    """Take an answer. The conversation is told unless the call runs; one that waited for the answer goes on.

    Raises as `approvals.answer`.
    """
    store.lock_approval_session(tx, approval_id)
    outcome = approvals.answer(principal, tx, approval_id, given, now)
    wakeup = store_tool_result(tx, principal.tenant_id, outcome.ended, now) if outcome.ended else None
    wakeup = _end_wait(principal, tx, outcome.approval, now) or wakeup
    dispatch = dispatch_message(principal.tenant_id, outcome.dispatch_id) if outcome.dispatch_id else None
    return GivenAnswer(outcome, wakeup, dispatch)


def take_answers(tx: Transaction, tenant_id: UUID, lease: Lease, now: datetime) -> list[QueueMessage]:
    """Read the session's new messages as answers to its open questions, before a turn begins.

    A message that is an answer needs no turn of its own: its outcome is one. What says more is the user's message to
    that turn, too. Return what wakes the dispatcher.
    """
    open_questions = [approval for approval in approvals.list_open(tx, lease.id) if approval.approver == "user"]
    if not open_questions:
        return []
    answered: list[Outcome] = []
    unread = store.list_unread_answers(tx, lease.id, max(question.posted_at for question in open_questions))
    for message, approval, given, is_read in _read_answers(unread, open_questions):
        outcome = approvals.answer_as(tx, approval, f"user:{lease.user_id}", given, now)
        if outcome.ended:
            store_tool_result(tx, tenant_id, outcome.ended, now)
        if is_read:
            store.mark_as_answer(tx, message.id, approval.tool_call_id)
        answered.append(outcome)
    return [dispatch_message(tenant_id, outcome.dispatch_id) for outcome in answered if outcome.dispatch_id]


_CLOSED_CAUSES: Mapping[ApprovalState, ReplyCause] = {
    "done": "question_done",
    "approved": "question_approved",
    "claimed": "question_approved",
    "refused": "question_refused",
    "expired": "question_expired",
}


def late_button_text(tx: Transaction, words: CannedTexts, turn_id: UUID, user_id: UUID) -> str | None:
    """Return what a turn replies whose messages are all buttons of questions that were closed before; else None."""
    pressed = store.list_pressed_buttons(tx, turn_id)
    parsed = [parse_button_id(message.button_id) for message in pressed]
    if not parsed or not all(parsed):
        return None
    found = [approvals.find_approval_of_user(tx, button[0], user_id) for button in parsed if button]
    return "\n\n".join(dict.fromkeys(_closed_text(words, approval) for approval in found))


def _closed_text(words: CannedTexts, approval: Approval | None) -> str:
    """Return how a closed question stands; of one that is not the user's no more than that it is closed."""
    if approval is None:
        return words.find("question_replaced")
    closed_at = approval.expires_at if approval.state == "expired" else approval.answered_at
    text = words.find(_CLOSED_CAUSES.get(approval.state, "question_replaced"))
    return text.replace("{at}", words.locale.time_text(closed_at) if closed_at else "?")


def expired_question_finder(send: Callable[[PendingWakeup], None]) -> Finder:
    """Return the finder of questions that nobody answered in time: their conversation is told.

    The sweep looks once more after the wake-up and then finds the question closed.
    """

    def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
        store.lock_approval_session(tx, work.id)
        approval = approvals.find_open_by_due_work(tx, work.id)
        if approval is None:
            return None
        if approval.expires_at > now:
            return StaleWork(work.due_at, lambda: None, not_before=approval.expires_at, is_planned=True)
        ended = approvals.expire(tx, approval, now).ended
        wakeup = store_tool_result(tx, work.tenant_id, ended, now) if ended else None
        wakeup = _end_wait(system_principal(work.tenant_id), tx, approval, now) or wakeup
        if wakeup is None:
            return None
        return StaleWork(now, lambda: send(wakeup), is_planned=True)

    return find


def _end_wait(principal: Principal, tx: Transaction, approval: Approval, now: datetime) -> PendingWakeup | None:
    """Let the agent answer again, once no question of the conversation waits for members."""
    waits = approval.approver == "user" or any(
        one.approver != "user" for one in approvals.list_open(tx, approval.session_id)
    )
    return None if waits else inbox_messages.end_wait(principal, tx, approval.session_id, "approval", now)


def _read_answers(
    messages: Sequence[UnreadAnswer], open_approvals: Sequence[Approval]
) -> list[tuple[UnreadAnswer, Approval, Answer, bool]]:
    """Return which messages answer which question, and whether that is all they say.

    Buttons answer by their id, a text only as the next one after the questions.
    """
    by_id = {approval.id: approval for approval in open_approvals}
    found: list[tuple[UnreadAnswer, Approval, Answer, bool]] = []
    for message in messages:
        button = parse_button_id(message.button_id)
        typed = read_typed_answers(message.body, len(open_approvals)) if message.is_next and not button else None
        if button and button[0] in by_id:
            found.append((message, by_id[button[0]], Answer(button[1]), True))
        if typed:
            found += [
                (message, open_approvals[answer.index], Answer(answer.decision, answer.reason), not typed.has_rest)
                for answer in typed.answers
            ]
    return found
