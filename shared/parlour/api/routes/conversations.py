"""All conversations of a tenant, for those who look after its agents."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Viewer
from parlour.api.conversation_schemas import ConversationPageView, ConversationQuery, ConversationView
from parlour.conversations.sessions import session_lists
from parlour.records.crud import get_record

router = APIRouter(prefix="/v1/conversations", tags=["sessions"])


@router.get("")
def list_conversations(caller: Viewer, query: Annotated[ConversationQuery, Query()]) -> ConversationPageView:
    """List all conversations of the tenant that the viewer may read, newest activity first, archived ones too."""
    who = caller.principal
    with caller.transaction() as tx:
        about = get_record(who, tx, query.record).id if query.record else None
        page = session_lists.list_conversations(who, tx, query.to_filter(about), query.cursor, query.limit)
    shown = [ConversationView.from_row(row) for row in page.conversations]
    return ConversationPageView(conversations=shown, next_cursor=page.next_cursor)


@router.get("/{session_id}")
def get_conversation(session_id: UUID, caller: Viewer) -> ConversationView:
    """Return one conversation as the list shows it; its messages are at /v1/sessions/{session_id}/messages."""
    with caller.transaction() as tx:
        return ConversationView.from_row(session_lists.get_conversation(caller.principal, tx, session_id))
