"""What an operator of the tenant sees of its turns."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.access import Viewer
from parlour.infra.jsonable import JsonObject
from parlour.turns import read

router = APIRouter(prefix="/v1/turns", tags=["turns"])


@router.get("")
def list_turns(
    caller: Viewer, session_id: UUID | None = None, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> JsonObject:
    """The newest turns of the tenant, or of one session, newest first: times, tokens by layer, cost, citations."""
    with caller.transaction() as tx:
        return {"turns": [view.to_json() for view in read.list_turns(caller.principal, tx, limit, session_id)]}


@router.get("/{turn_id}")
def get_turn(turn_id: UUID, caller: Viewer) -> JsonObject:
    """One turn."""
    with caller.transaction() as tx:
        return read.get_turn(caller.principal, tx, turn_id).to_json()
