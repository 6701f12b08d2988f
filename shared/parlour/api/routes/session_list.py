"""Sessions in a list, and what their users make of them: first, put away, called something else."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import AnyCaller
from parlour.api.schemas import PageCursor, RecordReference
from parlour.api.session_schemas import SessionListItemView, SessionPageView, SessionPatch, SessionView
from parlour.conversations.sessions import session_lists, session_update
from parlour.infra.errors import InvalidRequest
from parlour.records.crud import find_records, get_record
from parlour.tenancy import users

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

AboutRecord = Annotated[RecordReference | None, Query(description="only sessions about this record (handle or id)")]
OfUser = Annotated[UUID | None, Query(description="only sessions of this user (for members and keys)")]
Archived = Annotated[bool, Query(description="archived sessions instead of active ones")]
Limit = Annotated[int, Query(ge=1, le=session_lists.MAX_SESSIONS)]


@router.get("")
def list_sessions(
    caller: AnyCaller,
    entity: AboutRecord = None,
    user: OfUser = None,
    archived: Archived = False,
    cursor: PageCursor = "",
    limit: Limit = 50,
) -> SessionPageView:
    """List a visitor's own conversations with the agent of their `visitor_token`, pinned ones first, then the latest.

    For members: those about a record or of a user, as far as they may read them.
    """
    who = caller.principal
    with caller.transaction() as tx:
        about = get_record(who, tx, entity).id if entity else None
        if who.kind == "user":
            page = session_lists.list_own_sessions(
                who,
                tx,
                caller.require_visitor().binding_id,
                entity_id=about,
                is_archived=archived,
                cursor=cursor,
                limit=limit,
            )
        elif about or user:
            page = session_lists.list_readable_sessions(
                who, tx, entity_id=about, user_id=user, is_archived=archived, cursor=cursor, limit=limit
            )
        else:
            raise InvalidRequest("give entity (a record) or user")
        named = {one.entity_id for one in page.rows if one.entity_id}
        known = {one.id: one for one in find_records(caller.principal, tx, sorted(named))} if named else {}
        session_items = [
            SessionListItemView.from_session(caller.principal, one, known.get(one.entity_id) if one.entity_id else None)
            for one in page.rows
        ]
        return SessionPageView(sessions=session_items, next_cursor=page.next_cursor)


@router.patch("/{session_id}")
def update_session(session_id: UUID, wanted: SessionPatch, caller: AnyCaller) -> SessionView:
    """Give one's own conversation a title, pin it, put it away, let others read it, or take that back."""
    who = caller.principal
    with caller.transaction() as tx:
        caller.get_session(tx, session_id)
        wished = session_update.SessionUpdate(wanted.title, wanted.pinned, wanted.archived, wanted.visibility)
        session_update.update_session(who, tx, session_id, wished, caller.now)
        found = users.get_session(who, tx, session_id)
        about = find_records(who, tx, [found.entity_id]) if found.entity_id else []
    return SessionView.from_session(who, found, about[0] if about else None)
