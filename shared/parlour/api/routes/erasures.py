"""Having something forgotten: a user, a message, a file or a fact, with all that was made of it.

Each answers with a report of what became of every row, and of what is out of reach. Asked again it goes on where it
broke off, or gives the report of when it was done.
"""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, Caller
from parlour.api.schemas import NewErasure
from parlour.erasure import execution
from parlour.erasure.execution import ErasureDependencies, ErasureRequest
from parlour.erasure.report import ErasableKind, ErasureTarget, shorten_report
from parlour.infra.json_values import JsonObject
from parlour.principal import Principal

router = APIRouter(prefix="/v1", tags=["erasure"])

_TIME_LIMIT = timedelta(seconds=25)
"""What is not done by then waits for whoever asks again: an answer may take 29 seconds."""

DryRun = Annotated[bool, Query(description="only report what would be erased")]
KeepRecords = Annotated[bool, Query(description="keep the records that its turns changed")]
Limit = Annotated[int, Query(ge=1, le=200)]


@router.post("/erasures")
def create_erasure(wanted: NewErasure, caller: Admin) -> JsonObject:
    """Forget something, or with `dry_run` only report what would be erased."""
    return run_erasure(caller, wanted.kind, wanted.id, dry_run=wanted.dry_run, keep_records=wanted.keep_records)


@router.get("/erasures")
def list_erasures(caller: Admin, limit: Limit = 50) -> JsonObject:
    """List erasures, finished and running, latest first; read each report by its id."""
    with caller.transaction() as tx:
        found = execution.list_erasures(caller.principal, tx, limit)
    return {
        "erasures": [
            {
                "id": str(row.id),
                "kind": row.kind,
                "target_id": str(row.target_id),
                "requested_by": row.requested_by,
                "at": row.at.isoformat(),
                "finished": row.is_finished,
                "counts": row.counts,
            }
            for row in found
        ]
    }


@router.get("/erasures/{report_id}")
def get_erasure(report_id: UUID, caller: Admin) -> JsonObject:
    """Return what became of each row, and what is out of reach."""
    with caller.transaction() as tx:
        return shorten_report(execution.get_report(caller.principal, tx, report_id))


@router.delete("/users/{user_id}")
def erase_user(user_id: UUID, caller: Admin, dry_run: DryRun = False, keep_records: KeepRecords = False) -> JsonObject:
    """Forget a person: their conversations on every channel, and all that was made of them."""
    return run_erasure(caller, "user", user_id, dry_run=dry_run, keep_records=keep_records)


@router.delete("/messages/{message_id}")
def erase_message(
    message_id: UUID, caller: Admin, dry_run: DryRun = False, keep_records: KeepRecords = False
) -> JsonObject:
    """Forget what one message said, and all that was made of it; its place in the conversation stays, empty."""
    return run_erasure(caller, "message", message_id, dry_run=dry_run, keep_records=keep_records)


def run_erasure(
    caller: Caller,
    kind: ErasableKind,
    target_id: UUID,
    *,
    dry_run: bool = False,
    keep_records: bool = False,
    requested_by: Principal | None = None,
) -> JsonObject:
    """Run an erasure and return its report. `requested_by` names visitors who have their own data erased."""
    services, until = caller.dependencies, caller.now + _TIME_LIMIT

    def seconds_left() -> float:
        return (until - services.clock()).total_seconds()

    with services.databases.borrow() as database:
        reaching = ErasureDependencies(
            database,
            services.media_bucket,
            services.upload_bucket,
            services.dead_letters,
            services.clock,
        )
        wish = ErasureRequest(ErasureTarget(kind, target_id), dry_run=dry_run, keep_records=keep_records)
        return shorten_report(execution.erase(requested_by or caller.principal, reaching, wish, seconds_left))
