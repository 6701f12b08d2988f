"""What people of the inbox read beside a conversation: what was tried, what is known, saved replies, what is new."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Viewer
from parlour.api.inbox_context_schemas import (
    InboxContextView,
    InboxFeedEventView,
    InboxFeedView,
    RememberedFactView,
    SavedReplyListView,
    SavedReplyView,
    reply_window,
)
from parlour.conversations import inbox_messages
from parlour.inbox import events, threads
from parlour.memory.inspection import user_memory
from parlour.tenancy import tenants

router = APIRouter(prefix="/v1/inbox", tags=["inbox"])

_MAX_EVENTS = 200
_MAX_FACTS = 20
_MAX_NUMBER = 2**63 - 1


@router.get("/feed")
def read_inbox_feed(
    caller: Viewer,
    after: Annotated[int, Query(ge=0, le=_MAX_NUMBER, description="The number of the last one read.")] = 0,
) -> InboxFeedView:
    """List what happened in the inbox since an event: a cheap poll for a live view."""
    with caller.transaction() as tx:
        rows = events.list_events_after(caller.principal, tx, after, _MAX_EVENTS)
    shown = [InboxFeedEventView.model_validate(row, from_attributes=True) for row in rows]
    return InboxFeedView(events=shown, last_number=shown[-1].number if shown else after)


@router.get("/saved-replies")
def list_saved_replies(caller: Viewer) -> SavedReplyListView:
    """List the texts that people may insert, as the tenant's pack has them."""
    with caller.transaction() as tx:
        tenant = tenants.find_own_tenant(tx)
    found = tenant.settings.get(threads.SAVED_REPLIES_SETTING) if tenant else None
    replies = sorted(found.items()) if isinstance(found, dict) else []
    shown = [SavedReplyView.model_validate({"name": name, "texts": texts}) for name, texts in replies]
    return SavedReplyListView(saved_replies=shown)


@router.get("/{session_id}/context")
def get_inbox_context(session_id: UUID, caller: Viewer) -> InboxContextView:
    """Return what was tried in a conversation, what is known of its user, and until when they can be reached."""
    who = caller.principal
    with caller.transaction() as tx:
        row = threads.get_thread(who, tx, session_id)
        context = threads.read_context(who, tx, session_id)
        address = inbox_messages.get_reply_address(tx, session_id)
        facts = user_memory.read_user_memory(who, tx, row.user_id).facts[:_MAX_FACTS]
    return InboxContextView.model_validate(
        {
            "summary": context.summary or "",
            "tried": context.tried or [],
            "open_effects": context.open_effects or [],
            "facts": [RememberedFactView(key=fact.key, value=fact.value) for fact in facts],
            "window": reply_window(address, caller.now),
        }
    )
