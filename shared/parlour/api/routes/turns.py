"""What an operator of the tenant sees of its turns."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Editor, Viewer
from parlour.api.schemas import PageCursor
from parlour.api.turn_change_schemas import TurnChangeListView, TurnChangeView
from parlour.api.turn_schemas import TurnPageView, TurnUndoneView, TurnView
from parlour.conversations import turn_views
from parlour.tools.builtin import agent_writes

router = APIRouter(prefix="/v1/turns", tags=["turns"])


@router.get("")
def list_turns(
    caller: Viewer,
    session_id: UUID | None = None,
    cursor: PageCursor = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> TurnPageView:
    """List the newest turns of the tenant, or of one session: times, tokens, cost, citations."""
    with caller.transaction() as tx:
        page = turn_views.list_turns(caller.principal, tx, limit, session_id, cursor)
    return TurnPageView.model_validate({"turns": page.rows, "next_cursor": page.next_cursor})


@router.get("/{turn_id}")
def get_turn(turn_id: UUID, caller: Viewer) -> TurnView:
    """One turn."""
    with caller.transaction() as tx:
        return TurnView.model_validate(turn_views.get_turn(caller.principal, tx, turn_id))


@router.get("/{turn_id}/changes")
def list_turn_changes(turn_id: UUID, caller: Viewer) -> TurnChangeListView:
    """List what the turn changed in records, also what was undone since."""
    with caller.transaction() as tx:
        turn_views.get_turn(caller.principal, tx, turn_id)
        found = agent_writes.list_turn_changes(caller.principal, tx, turn_id)
    return TurnChangeListView(changes=[TurnChangeView.from_change(one) for one in found])


@router.post("/{turn_id}/undo")
def undo_turn(turn_id: UUID, caller: Editor) -> TurnUndoneView:
    """Restore what the turn wrote into records; what was changed since is left and listed."""
    with caller.transaction() as tx:
        undone = agent_writes.undo_turn(caller.principal, tx, turn_id, caller.now)
    caller.request_embedding()
    return TurnUndoneView.model_validate({"writes": undone})
