"""The clocks of conversations in the inbox, and what brings one there outside of a turn.

Clocks: service times, waiting too long, and the end of a snooze.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from parlour.channels import outbox
from parlour.conversations import inbox_messages
from parlour.conversations.inbox_messages import PostedMessage
from parlour.conversations.tool_result_messages import PendingWakeup
from parlour.inbox import thread as rules
from parlour.inbox import threads
from parlour.inbox.thread import Thread
from parlour.infra import log
from parlour.infra.errors import Conflict
from parlour.infra.postgres import Transaction
from parlour.infra.queues import FifoQueue
from parlour.jobs.sweep import Finder, StaleWork
from parlour.jobs.work_due import SWEEP_DELAY, DueWork

_RETRY_WHEN_BUSY = timedelta(seconds=30)


def finder(outbox_queue: FifoQueue, wake: Callable[[PendingWakeup], None]) -> Finder:
    """Return the finder of conversations that a person has to look at: those whose clock is due, and those in which
    something is undecided since. It brings them to the inbox, records what passed and says when to look again. One in
    which nothing is undecided any more is the agent's again; `wake` wakes it.
    """

    def find(tx: Transaction, work: DueWork, now: datetime) -> StaleWork | None:
        found = threads.lock_for_clock(tx, work.id)
        if found is None or not found.is_held:
            threads.open_for_held_reply(tx, work.tenant_id, work.id, now)
            found = threads.lock_for_clock(tx, work.id)
        if found is None or not found.is_held:
            return None
        wakeup = inbox_messages.settle(tx, work.tenant_id, work.id, now)
        if wakeup is not None:
            return StaleWork(now, lambda: wake(wakeup), is_planned=True)
        thread, posted = _run_clocks(tx, found, now)
        if thread is None:  # the agent is answering: a line in between would break its turn
            return StaleWork(now, lambda: None, not_before=now + _RETRY_WHEN_BUSY)
        deliveries = posted.deliveries if posted else ()

        def send() -> None:
            for row in deliveries:
                outbox.send_wakeup(outbox_queue, work.tenant_id, work.id, row.id, row.attempts)

        if deliveries:  # then look again when the next clock is due
            wait = thread.next_due_at - now if thread.next_due_at else SWEEP_DELAY
            return StaleWork(now, send, is_planned=True, first_wait=max(wait, timedelta()))
        return StaleWork(now, send, not_before=thread.next_due_at) if thread.next_due_at else None

    return find


def _run_clocks(tx: Transaction, thread: Thread, now: datetime) -> tuple[Thread | None, PostedMessage | None]:
    """Record every clock that passed; return the thread as it is then, None when it has to wait, and what to send."""
    posted = None
    if _is_due(thread.escalation_due_at, now):
        try:
            text = inbox_messages.late_text(tx, thread.session_id)
            posted = inbox_messages.post_notice(tx, thread.session_id, text, now)
        except Conflict:
            return None, None
        thread = replace(thread, priority=thread.priority + threads.ESCALATED_PRIORITY, escalation_due_at=None)
        threads.record_clock(tx, thread, "escalated", {"priority": thread.priority}, now)
        log.count("InboxEscalated")
    if _is_due(thread.first_response_due_at, now):
        thread = replace(thread, first_response_due_at=None)
        threads.record_clock(tx, thread, "breached", {"clock": "first_response"}, now)
        log.count("InboxServiceBreached", Clock="first_response")
    if _is_due(thread.resolution_due_at, now):
        thread = replace(thread, resolution_due_at=None)
        threads.record_clock(tx, thread, "breached", {"clock": "resolution"}, now)
        log.count("InboxServiceBreached", Clock="resolution")
    if _is_due(thread.snoozed_until, now):
        thread = rules.wake(thread)
        threads.record_clock(tx, thread, "woken", {}, now)
    return thread, posted


def _is_due(due_at: datetime | None, now: datetime) -> bool:
    return due_at is not None and due_at <= now
