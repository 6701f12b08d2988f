"""What concerns the whole deployment and every tenant in it: for its operator only."""

from fastapi import APIRouter

from parlour.api.access import Operated
from parlour.api.schemas import Redrive
from parlour.infra import log
from parlour.infra.jsonable import JsonObject

router = APIRouter(prefix="/v1/operations", tags=["operations"])


@router.get("/dead-letters")
def count_dead_letters(services: Operated) -> dict[str, dict[str, int]]:
    """About how many messages each queue gave up on and still keeps."""
    return {"dead_letters": {name: letters.count() for name, letters in services.dead_letters.items()}}


@router.post("/redrive")
def redrive(wanted: Redrive, services: Operated) -> JsonObject:
    """Move a queue's dead letters back to it, oldest first; what is left takes another call."""
    done = services.dead_letters[wanted.queue].redrive(wanted.most)
    log.info("dead_letters_redriven", queue=wanted.queue, moved=done.moved, left=done.left)
    return {"queue": wanted.queue, "moved": done.moved, "left": done.left}
