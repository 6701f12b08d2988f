"""What is going on with a record, and what all Pulses of the tenant cost.

Reading costs no model call. A refresh waits for no window; with a question its answer is the asker's alone.
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request

from parlour.api.authorization import Admin, Caller, Reader, Viewer
from parlour.api.pulse_schemas import (
    PulseDiffView,
    PulseHistoryView,
    PulsePromptView,
    PulseRefreshView,
    PulseStatisticsView,
    QuestionAnswerView,
    RecordPulseView,
)
from parlour.api.schemas import PageCursor, PulseCapChange, PulseRefresh
from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.pulse.due import budget
from parlour.pulse.reading import pulse_statistics, pulse_view, refresh_requests, version_history
from parlour.pulse.writing import prompt_explanation
from parlour.tenancy import audit

Poll = Annotated[bool, Query(description="a background poll; it does not count as a read")]
Limit = Annotated[int, Query(ge=1, le=version_history.MAX_VERSIONS)]
Version = Annotated[int | None, Query(ge=1)]
Days = Annotated[int, Query(ge=1, le=pulse_statistics.MOST_DAYS)]


def _declare_record_id(record_id: UUID) -> None:
    """Declare that the path names a record by its id; `_record_reference` reads it."""


def _declare_handle(type_key: str, key: str) -> None:
    """Declare that the path names a record by its handle; `_record_reference` reads it."""


def _record_reference(request: Request) -> UUID | str:
    """Return the record that the path names, by id or handle."""
    named = request.path_params
    return named["record_id"] if "record_id" in named else f"{named['type_key']}/{named['key']}"


PathRecord = Annotated[UUID | str, Depends(_record_reference)]
record_router = APIRouter()


@record_router.get("")
def get_pulse(record: PathRecord, caller: Reader, poll: Poll = False) -> RecordPulseView:
    """Return the Pulse at the caller's level, since when it is stale and why, and one line of later changes."""
    with caller.transaction() as tx:
        seen = pulse_view.read_pulse(caller.principal, tx, record, caller.now, counts_as_read=not poll)
    if seen.has_restricted_level:  # it was found to tell of too much, and is to be written anew
        caller.request_embedding()
    return RecordPulseView.model_validate(seen)


@record_router.post("/refresh", status_code=202)
def refresh_pulse(record: PathRecord, caller: Reader, wanted: PulseRefresh | None = None) -> PulseRefreshView:
    """Have it written now. With a question it stays as it is, and the answer is read under `questions`."""
    question = wanted.question if wanted else ""
    question_id = uuid7(caller.now)
    with caller.transaction() as tx:
        asked = refresh_requests.request_refresh(caller.principal, tx, record, question, question_id, caller.now)
    # A Pulse that nobody hears of now the sweep finds; a question would wait for ever, so its asker is
    # told.
    try:
        caller.dependencies.pulse_queue.send(asked.job.to_json(), 0)
    except QueueUnavailable as problem:
        if asked.job.question_id:
            raise
        log.error("pulse_wake_failed", problem)
    return PulseRefreshView(record=asked.handle, question_id=asked.job.question_id)


@record_router.get("/questions/{question_id}")
def get_pulse_answer(record: PathRecord, question_id: UUID, caller: Reader) -> QuestionAnswerView:
    """Return a question of the caller's own, and its answer once it has one."""
    with caller.transaction() as tx:
        return QuestionAnswerView.from_answer(refresh_requests.read_answer(caller.principal, tx, record, question_id))


@record_router.get("/history")
def list_pulse_versions(
    record: PathRecord, caller: Reader, cursor: PageCursor = "", limit: Limit = 20
) -> PulseHistoryView:
    """List earlier versions, newest first."""
    with caller.transaction() as tx:
        found = version_history.list_versions(caller.principal, tx, record, limit=limit, cursor=cursor)
    return PulseHistoryView.model_validate(found)


@record_router.get("/diff")
def compare_pulse_versions(
    record: PathRecord, caller: Reader, before: Version = None, after: Version = None
) -> PulseDiffView:
    """Compare two of its texts, statement by statement; the newest two unless others are named."""
    with caller.transaction() as tx:
        found = version_history.diff_versions(caller.principal, tx, record, before, after)
    return PulseDiffView.model_validate(found)


@record_router.get("/prompt")
def explain_pulse(record: PathRecord, caller: Viewer, version: Version = None) -> PulsePromptView:
    """Explain the prompt behind the Pulse: every candidate, in or out and why, and the rebuilt prompt."""
    with caller.transaction() as tx:
        found = prompt_explanation.explain_prompt(caller.principal, tx, record, version)
    return PulsePromptView.model_validate(found)


router = APIRouter(prefix="/v1", tags=["pulse"])
router.include_router(
    record_router, prefix="/entities/{record_id:uuid}/pulse", dependencies=[Depends(_declare_record_id)]
)
router.include_router(
    record_router, prefix="/entities/{type_key:record_type}/{key}/pulse", dependencies=[Depends(_declare_handle)]
)


@router.get("/pulses")
def get_pulse_statistics(caller: Viewer, days: Days = 7) -> PulseStatisticsView:
    """Return how many changes Pulses were written for, by day (UTC), their cost, and how fresh they were when read."""
    with caller.transaction() as tx:
        return _read_statistics(caller, tx, days)


@router.put("/pulses/cap")
def set_pulse_cap(change: PulseCapChange, caller: Admin) -> PulseStatisticsView:
    """Give the tenant a daily Pulse budget of its own, or the deployment's again; its daily cap holds besides."""
    cap = change.pulse_daily_cap_usd
    with caller.transaction() as tx:
        if budget.set_cap(caller.principal, tx, cap, caller.now):
            told: JsonObject = {"pulse_daily_cap_usd": None if cap is None else f"{cap:f}"}
            target = f"tenant:{caller.principal.tenant_id}"
            audit.add_entry(caller.principal, tx, "pulse_cap.changed", target, told, caller.now)
        current = _read_statistics(caller, tx, 1)
    caller.request_embedding()  # what waited for room is due now
    return current


def _read_statistics(caller: Caller, tx: Transaction, days: int) -> PulseStatisticsView:
    cap = caller.dependencies.default_pulse_cap
    return PulseStatisticsView.model_validate(
        pulse_statistics.read_statistics(caller.principal, tx, days, cap, caller.now)
    )
