"""Moving the tenant to another embedding model, and how far that is."""

from fastapi import APIRouter, status

from parlour.api.authorization import Admin, Viewer
from parlour.api.schemas import EmbeddingModelChoice
from parlour.infra.errors import NotFound
from parlour.infra.json_values import JsonObject
from parlour.search.index import reembedding
from parlour.search.index.store import Reembedding

router = APIRouter(prefix="/v1/reembedding", tags=["operations"])


@router.post("", status_code=status.HTTP_202_ACCEPTED)
def start_reembedding(chosen: EmbeddingModelChoice, caller: Admin) -> JsonObject:
    """Embed everything with another model; searches go on, and look there once all of it is. Twice is once."""
    with caller.transaction() as tx:
        services = caller.dependencies
        moving = reembedding.start_reembedding(
            caller.principal, tx, services.embedding_spaces, chosen.model, caller.now
        )
    caller.request_embedding()
    return _reembedding_json(moving)


@router.get("")
def get_reembedding(caller: Viewer) -> JsonObject:
    """How far the last move is: `done` of `total` rows; `finished_at`: since when searches look there."""
    with caller.transaction() as tx:
        moving = reembedding.read_progress(caller.principal, tx)
    if moving is None:
        raise NotFound("this tenant was never re-embedded; start it with POST /v1/reembedding")
    return _reembedding_json(moving)


def _reembedding_json(moving: Reembedding) -> JsonObject:
    return {
        "space": moving.space,
        "done": moving.done,
        "total": moving.total,
        "started_at": moving.started_at.isoformat(),
        "finished_at": moving.finished_at.isoformat() if moving.finished_at else None,
        "cleared_at": moving.cleared_at.isoformat() if moving.cleared_at else None,
    }
