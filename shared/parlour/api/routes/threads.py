"""Sessions in a list, and what their users make of them: first, put away, called something else."""

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import AnyCaller, Caller
from parlour.api.schemas import RecordName
from parlour.api.session_shapes import SessionChange, SessionLine, SessionShown
from parlour.infra.errors import InvalidRequest
from parlour.infra.postgres import Transaction
from parlour.knowledge.records.entities import read, read_many
from parlour.tenancy import people
from parlour.tenancy.sessions import change, listed
from parlour.tenancy.sessions.listed import Line

router = APIRouter(prefix="/v1/sessions", tags=["sessions"])

About = Annotated[RecordName | None, Query(description="only those about this record, by handle or id")]
Whose = Annotated[UUID | None, Query(description="only those of this user; for people of the tenant")]
Archived = Annotated[bool, Query(description="those that were put away, instead of the others")]
Most = Annotated[int, Query(ge=1, le=listed.MOST)]


@router.get("")
def list_sessions(
    caller: AnyCaller, entity: About = None, user: Whose = None, archived: Archived = False, most: Most = 50
) -> dict[str, list[SessionLine]]:
    """A visitor's own conversations with the agent of their `visitor_token`: those pinned first, then the latest. For
    people of the tenant those about a record or of a user, as far as they may read them."""
    who = caller.principal
    with caller.transaction() as tx:
        about = read(who, tx, entity).id if entity else None
        if who.kind == "user":
            found = listed.own(who, tx, caller.visitor().binding_id, entity_id=about, archived=archived, most=most)
        elif about or user:
            found = listed.readable(who, tx, entity_id=about, user_id=user, archived=archived, most=most)
        else:
            raise InvalidRequest("say which: about a record (entity) or of a user (user)")
        return {"sessions": _lines(caller, tx, found)}


@router.patch("/{session_id}")
def change_session(session_id: UUID, wanted: SessionChange, caller: AnyCaller) -> SessionShown:
    """Give one's own conversation a title, pin it, put it away, let others read it, or take that back."""
    who = caller.principal
    with caller.transaction() as tx:
        caller.check_session(tx, session_id)
        wished = change.Change(wanted.title, wanted.pinned, wanted.archived, wanted.visibility)
        change.change(who, tx, session_id, wished, caller.now)
        found = people.session_of(who, tx, session_id)
        about = read_many(who, tx, [found.entity_id]) if found.entity_id else []
    return SessionShown.of(who, found, about[0] if about else None)


def _lines(caller: Caller, tx: Transaction, found: Sequence[Line]) -> list[SessionLine]:
    """With the records that they are about, as far as the reader may see those."""
    named = {one.entity_id for one in found if one.entity_id}
    known = {one.id: one for one in read_many(caller.principal, tx, sorted(named))} if named else {}
    return [SessionLine.of(caller.principal, one, known.get(one.entity_id) if one.entity_id else None) for one in found]
