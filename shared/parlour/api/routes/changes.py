"""Who changed which record when, so that a turn's changes can be undone."""

from typing import Annotated

from fastapi import APIRouter, Query

from parlour.api.authorization import Viewer
from parlour.api.turn_change_schemas import ChangePageView, ChangeQuery, ChangeView
from parlour.records.crud import get_record
from parlour.tools.builtin import agent_writes

router = APIRouter(prefix="/v1/changes", tags=["turns"])


@router.get("")
def list_changes(caller: Viewer, query: Annotated[ChangeQuery, Query()]) -> ChangePageView:
    """List what agents changed in records, and what people deleted or accepted, newest first."""
    who = caller.principal
    with caller.transaction() as tx:
        about = get_record(who, tx, query.record).id if query.record else None
        wanted = agent_writes.ChangeQuery(about, query.since, query.until)
        page = agent_writes.list_changes(who, tx, wanted, query.cursor, query.limit)
    shown = [ChangeView.from_change(change) for change in page.rows]
    return ChangePageView(changes=shown, next_cursor=page.next_cursor)
