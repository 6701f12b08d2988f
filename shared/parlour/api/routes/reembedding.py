"""Moving the tenant to another embedding model, and how far that is."""

from fastapi import APIRouter, status

from parlour.api.access import Admin, Viewer
from parlour.api.schemas import ModelChosen
from parlour.infra.errors import NotFound
from parlour.infra.jsonable import JsonObject
from parlour.knowledge.index import reembed
from parlour.knowledge.index.store import Moving
from parlour.tenancy import audit

router = APIRouter(prefix="/v1/reembedding", tags=["operations"])


@router.post("", status_code=status.HTTP_202_ACCEPTED)
def start(chosen: ModelChosen, caller: Admin) -> JsonObject:
    """Embed everything with another model; searches go on, and look there once all of it is. Twice is once."""
    with caller.transaction() as tx:
        moving = reembed.start(caller.principal, tx, caller.services.spaces, chosen.model, caller.now)
        if moving.started_at == caller.now:
            audit.record(
                caller.principal, tx, "tenant.reembedding", f"tenant:{caller.principal.tenant_id}",
                {"space": moving.space}, caller.now, caller.services.new_id,
            )  # fmt: skip
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
