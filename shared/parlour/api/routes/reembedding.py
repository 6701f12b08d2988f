"""Moving the tenant to another embedding model, and how far that is."""

from fastapi import APIRouter, status

from parlour.api.authorization import Admin, Viewer
from parlour.api.operation_schemas import EmbeddingModelChoice, ReembeddingView
from parlour.infra.errors import NotFound
from parlour.search.index import reembedding

router = APIRouter(prefix="/v1/reembedding", tags=["operations"])


@router.post("", status_code=status.HTTP_202_ACCEPTED)
def start_reembedding(chosen: EmbeddingModelChoice, caller: Admin) -> ReembeddingView:
    """Embed everything with another model; searches go on, and look there once all of it is. Twice is once."""
    with caller.transaction() as tx:
        services = caller.dependencies
        moving = reembedding.start_reembedding(
            caller.principal, tx, services.embedding_spaces, chosen.model, caller.now
        )
    caller.request_embedding()
    return ReembeddingView.model_validate(moving)


@router.get("")
def get_reembedding(caller: Viewer) -> ReembeddingView:
    """How far the last move is: `done` of `total` rows; `finished_at`: since when searches look there."""
    with caller.transaction() as tx:
        moving = reembedding.read_progress(caller.principal, tx)
    if moving is None:
        raise NotFound("this tenant was never re-embedded; start it with POST /v1/reembedding")
    return ReembeddingView.model_validate(moving)
