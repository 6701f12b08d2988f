"""Conversations that people answer: list them, take one, write in it, and give it back."""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Caller, Viewer
from parlour.api.inbox_schemas import (
    InboxAssignment,
    InboxConversationView,
    InboxCountsView,
    InboxEventPageView,
    InboxEventView,
    InboxHandBack,
    InboxMemberListView,
    InboxMemberView,
    InboxMessage,
    InboxMessageView,
    InboxNote,
    InboxNoteView,
    InboxOpening,
    InboxPageView,
    InboxSnooze,
)
from parlour.api.schemas import PageCursor
from parlour.channels import outbox
from parlour.conversations import inbox_messages
from parlour.conversations.inbox_messages import PostedMessage
from parlour.inbox import events, threads
from parlour.inbox.thread import ThreadReason, ThreadState
from parlour.inbox.threads import ThreadFilter
from parlour.infra import log
from parlour.infra.errors import NotFound, QueueUnavailable
from parlour.infra.postgres import Transaction
from parlour.notifications import notifications
from parlour.tenancy import users

router = APIRouter(prefix="/v1/inbox", tags=["inbox"])

_MAX_PAGE = 100
_MAX_NUMBER = 2**63 - 1


@router.get("")
def list_inbox(
    caller: Viewer,
    state: Annotated[
        list[ThreadState | Literal["undecided"]] | None,
        Query(description="In one of these states; `undecided`: a person has to decide something there."),
    ] = None,
    assignee: Annotated[Literal["", "me"], Query(description="`me`: those that the caller has.")] = "",
    binding: Annotated[str, Query(max_length=63, description="The slug of a binding.")] = "",
    reason: Annotated[ThreadReason | None, Query(description="Why they came.")] = None,
    cursor: PageCursor = "",
    limit: Annotated[int, Query(ge=1, le=_MAX_PAGE)] = 50,
) -> InboxPageView:
    """List the conversations of the inbox, the most urgent and the oldest first."""
    who = caller.principal
    is_undecided = state is not None and "undecided" in state
    wanted = ThreadFilter(state, is_undecided, who.name if assignee else None, binding or None, reason)
    with caller.transaction() as tx:
        page = threads.list_threads(who, tx, wanted, limit, cursor)
    shown = [InboxConversationView.from_row(row, who) for row in page.rows]
    return InboxPageView(conversations=shown, next_cursor=page.next_cursor)


@router.get("/counts")
def count_inbox(caller: Viewer) -> InboxCountsView:
    """Count the conversations that wait, that people have, and that are snoozed."""
    with caller.transaction() as tx:
        counts = threads.count_threads(caller.principal, tx)
    return InboxCountsView.model_validate(counts, from_attributes=True)


@router.get("/members")
def list_inbox_members(
    caller: Viewer,
    session_id: Annotated[UUID | None, Query(description="Only those who may read this conversation.")] = None,
) -> InboxMemberListView:
    """List the members to whom a conversation may be given. Needs the roles viewer and editor."""
    with caller.transaction() as tx:
        found = threads.list_answerers(caller.principal, tx, session_id)
    shown = [InboxMemberView(id=member.id, display_name=member.display_name) for member in found]
    return InboxMemberListView(members=shown)


@router.get("/{session_id}")
def get_inbox_conversation(session_id: UUID, caller: Viewer) -> InboxConversationView:
    """Return one conversation of the inbox; its messages are at /v1/sessions/{session_id}/messages."""
    with caller.transaction() as tx:
        return _view(caller, tx, session_id)


@router.get("/{session_id}/events")
def list_inbox_events(
    session_id: UUID,
    caller: Viewer,
    after: Annotated[int, Query(ge=0, le=_MAX_NUMBER, description="The number of the last one read.")] = 0,
) -> InboxEventPageView:
    """List what happened to a conversation in the inbox, with its private notes."""
    with caller.transaction() as tx:
        threads.get_thread(caller.principal, tx, session_id)
        rows = events.list_events_after(caller.principal, tx, after, _MAX_PAGE, session_id)
    return InboxEventPageView(events=[InboxEventView.model_validate(row) for row in rows])


@router.post("/{session_id}/open")
def open_inbox_conversation(session_id: UUID, body: InboxOpening, caller: Viewer) -> InboxConversationView:
    """Bring a conversation to the inbox; the user is told that a person will answer."""
    with caller.transaction() as tx:
        if not users.can_read_session(caller.principal, tx, session_id):
            raise NotFound("session not found")
        threads.person_of(caller.principal, tx)
        opened = inbox_messages.open_thread(caller.principal, tx, session_id, "member", body.text, caller.now)
        shown = _view(caller, tx, session_id)
    if opened.notice:
        _send(caller, session_id, opened.notice)
    _wake_notifications(caller, session_id)
    return shown


@router.post("/{session_id}/take")
def take_inbox_conversation(session_id: UUID, caller: Viewer) -> InboxConversationView:
    """Take a conversation: exactly one of several people gets it, and the agent waits."""
    return _move(caller, session_id, lambda tx: threads.take(caller.principal, tx, session_id, caller.now))


@router.post("/{session_id}/assign")
def assign_inbox_conversation(session_id: UUID, body: InboxAssignment, caller: Viewer) -> InboxConversationView:
    """Give a conversation to a member with the roles viewer and editor, or admin."""
    return _move(
        caller, session_id, lambda tx: threads.assign(caller.principal, tx, session_id, body.member_id, caller.now)
    )


@router.post("/{session_id}/release")
def release_inbox_conversation(session_id: UUID, caller: Viewer) -> InboxConversationView:
    """Put a conversation back among those that wait."""
    return _move(caller, session_id, lambda tx: threads.release(caller.principal, tx, session_id, caller.now))


@router.post("/{session_id}/snooze")
def snooze_inbox_conversation(session_id: UUID, body: InboxSnooze, caller: Viewer) -> InboxConversationView:
    """Put a conversation off until a time, or until the user writes."""
    return _move(
        caller, session_id, lambda tx: threads.snooze(caller.principal, tx, session_id, body.until, caller.now)
    )


@router.post("/{session_id}/close")
def close_inbox_conversation(session_id: UUID, caller: Viewer) -> InboxConversationView:
    """Mark a conversation as done: nothing in it waits for an answer any more."""
    return _move(caller, session_id, lambda tx: inbox_messages.close(caller.principal, tx, session_id, caller.now))


@router.post("/{session_id}/hand-back")
def hand_back_inbox_conversation(session_id: UUID, body: InboxHandBack, caller: Viewer) -> InboxConversationView:
    """Let the agent answer again. What the user wrote meanwhile is the input of its next turn."""
    with caller.transaction() as tx:
        _, wakeup = inbox_messages.hand_back(caller.principal, tx, session_id, body.instruction, caller.now)
        shown = _view(caller, tx, session_id)
    _try_to_wake(lambda: caller.dependencies.turn_queues[wakeup.queue_channel].send([wakeup.message]))
    _wake_notifications(caller, session_id)
    return shown


@router.post("/{session_id}/messages")
def say_in_inbox_conversation(session_id: UUID, body: InboxMessage, caller: Viewer) -> InboxMessageView:
    """Write to the user, on the channel of their last message. The caller must have the conversation."""
    content = body.to_content()
    with caller.transaction() as tx:
        posted = inbox_messages.say(caller.principal, tx, session_id, content, body.claim, body.client_id, caller.now)
    _send(caller, session_id, posted)
    _wake_notifications(caller, session_id)
    return InboxMessageView(message_id=posted.message_id)


@router.post("/{session_id}/notes")
def add_inbox_note(session_id: UUID, body: InboxNote, caller: Viewer) -> InboxNoteView:
    """Add a private note to a conversation."""
    with caller.transaction() as tx:
        note_id = threads.add_note(caller.principal, tx, session_id, body.text, caller.now, body.client_id)
    return InboxNoteView(id=note_id)


def _move(caller: Caller, session_id: UUID, move: Callable[[Transaction], object]) -> InboxConversationView:
    with caller.transaction() as tx:
        move(tx)
        shown = _view(caller, tx, session_id)
    _wake_notifications(caller, session_id)
    return shown


def _view(caller: Caller, tx: Transaction, session_id: UUID) -> InboxConversationView:
    return InboxConversationView.from_row(threads.get_thread(caller.principal, tx, session_id), caller.principal)


def _send(caller: Caller, session_id: UUID, posted: PostedMessage) -> None:
    queue, tenant_id = caller.dependencies.outbox_queue, caller.principal.tenant_id
    for reply in posted.deliveries:
        _try_to_wake(partial(outbox.send_wakeup, queue, tenant_id, session_id, reply.id, reply.attempts))


def _wake_notifications(caller: Caller, session_id: UUID) -> None:
    with caller.transaction() as tx:
        pending = notifications.list_pending(tx, session_id)
    notifications.send_wakeups(caller.dependencies.wakeup_queue, pending, caller.now)


def _try_to_wake(send: Callable[[], None]) -> None:
    """Send what goes on from here; while the queue is away the sweep does."""
    try:
        send()
    except QueueUnavailable as problem:
        log.warning("wake_failed", code=problem.code)
