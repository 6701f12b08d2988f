"""Having something forgotten: a user, a message, a file or a fact, with all that was made of it.

Each answers with a report of what became of every row, and of what is out of reach. Asked again it goes on where it
broke off, or gives the report of when it was done.
"""

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, Caller
from parlour.api.erasure_schemas import ErasurePageView, ErasureReportView
from parlour.api.schemas import NewErasure, PageCursor
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
def create_erasure(wanted: NewErasure, caller: Admin) -> ErasureReportView:
    """Forget something, or with `dry_run` only report what would be erased."""
    return run_erasure(caller, wanted.kind, wanted.id, dry_run=wanted.dry_run, keep_records=wanted.keep_records)


@router.get("/erasures")
def list_erasures(caller: Admin, cursor: PageCursor = "", limit: Limit = 50) -> ErasurePageView:
    """List erasures, finished and running, latest first; read each report by its id."""
    with caller.transaction() as tx:
        page = execution.list_erasures(caller.principal, tx, cursor, limit)
    return ErasurePageView.model_validate({"erasures": page.rows, "next_cursor": page.next_cursor})


@router.get("/erasures/{report_id}")
def get_erasure(report_id: UUID, caller: Admin) -> ErasureReportView:
    """Return what became of each row, and what is out of reach."""
    with caller.transaction() as tx:
        return _report_view(execution.get_report(caller.principal, tx, report_id))


@router.delete("/users/{user_id}")
def erase_user(
    user_id: UUID, caller: Admin, dry_run: DryRun = False, keep_records: KeepRecords = False
) -> ErasureReportView:
    """Forget a person: their conversations on every channel, and all that was made of them."""
    return run_erasure(caller, "user", user_id, dry_run=dry_run, keep_records=keep_records)


@router.delete("/messages/{message_id}")
def erase_message(
    message_id: UUID, caller: Admin, dry_run: DryRun = False, keep_records: KeepRecords = False
) -> ErasureReportView:
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
) -> ErasureReportView:
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
        return _report_view(execution.erase(requested_by or caller.principal, reaching, wish, seconds_left))


def _report_view(report: JsonObject) -> ErasureReportView:
    return ErasureReportView.model_validate(shorten_report(report))
