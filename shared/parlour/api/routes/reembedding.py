"""Moving the tenant to another embedding model, and how far that is."""

from fastapi import APIRouter, status

from parlour.api.access import Admin, Viewer
from parlour.api.schemas import ModelChosen
from parlour.infra.errors import NotFound
from parlour.infra.jsonable import JsonObject
from parlour.knowledge.index import reembed
from parlour.knowledge.index.store import Moving

router = APIRouter(prefix="/v1/reembedding", tags=["operations"])


@router.post("", status_code=status.HTTP_202_ACCEPTED)
def start(chosen: ModelChosen, caller: Admin) -> JsonObject:
    """Embed everything with another model; searches go on, and look there once all of it is. Twice is once."""
    with caller.transaction() as tx:
        services = caller.services
        moving = reembed.start(caller.principal, tx, services.spaces, chosen.model, caller.now, services.new_id)
    caller.embed_soon()
    return _shown(moving)


@router.get("")
def show(caller: Viewer) -> JsonObject:
    """How far the last move is: `done` of `total` rows; `finished_at`: since when searches look there."""
    with caller.transaction() as tx:
        moving = reembed.progress(caller.principal, tx)
    if moving is None:
        raise NotFound("this tenant was never moved to another model: POST /v1/reembedding does that")
    return _shown(moving)


def _shown(moving: Moving) -> JsonObject:
    return {
        "space": moving.space, "done": moving.done, "total": moving.total,
        "started_at": moving.started_at.isoformat(),
        "finished_at": moving.finished_at.isoformat() if moving.finished_at else None,
        "cleared_at": moving.cleared_at.isoformat() if moving.cleared_at else None,
    }  # fmt: skip
