"""What is going on with a record, and what all Pulses of the tenant cost.

Reading costs no model call. A refresh waits for no window; with a question its answer is the asker's alone.
"""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Request

from parlour.api.access import Admin, Caller, Reader, Viewer
from parlour.api.schemas import PulseCapChange, RefreshWanted
from parlour.infra import log
from parlour.infra.errors import QueueUnavailable
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.pulse.due import budget
from parlour.pulse.reading import asking, history, numbers, read
from parlour.pulse.writing import why
from parlour.tenancy import audit

Watching = Annotated[bool, Query(description="a page that looks by itself: it does not count as somebody looking")]
Most = Annotated[int, Query(ge=1, le=history.MOST)]
Version = Annotated[int | None, Query(ge=1)]
Days = Annotated[int, Query(ge=1, le=numbers.MOST_DAYS)]


def _by_id(record_id: UUID) -> None:
    """The path names a record by its id; `_record` takes it from there."""


def _by_handle(type_key: str, key: str) -> None:
    """The path names a record by its handle; so does this."""


def _record(request: Request) -> UUID | str:
    """The record that the path names, one way or the other."""
    named = request.path_params
    return named["record_id"] if "record_id" in named else f"{named['type_key']}/{named['key']}"


Record = Annotated[UUID | str, Depends(_record)]
of_a_record = APIRouter()


@of_a_record.get("")
def read_pulse(record: Record, caller: Reader, watching: Watching = False) -> JsonObject:
    """The Pulse as far as the caller may see it, since when it is stale and why, and what changed since in one line."""
    with caller.transaction() as tx:
        seen = read.read(caller.principal, tx, record, caller.now, looked=not watching)
    if seen.closed:  # it was found to tell of too much, and is to be written anew
        caller.embed_soon()
    return seen.to_json()


@of_a_record.post("/refresh", status_code=202)
def refresh_pulse(record: Record, caller: Reader, wanted: RefreshWanted | None = None) -> JsonObject:
    """Have it written now. With a question it stays as it is, and the answer is read under `questions`."""
    question = wanted.question if wanted else ""
    question_id = caller.services.new_id(caller.now)
    with caller.transaction() as tx:
        asked = asking.refresh(caller.principal, tx, record, question, question_id, caller.now)
    _send(caller, asked)
    of = asked.order.question_id
    return {"record": asked.handle, "question_id": str(of) if of else None}


@of_a_record.get("/questions/{question_id}")
def read_answer(record: Record, question_id: UUID, caller: Reader) -> JsonObject:
    """A question of the caller's own, and its answer once it has one."""
    with caller.transaction() as tx:
        return asking.answer(caller.principal, tx, record, question_id)


@of_a_record.get("/history")
def list_versions(record: Record, caller: Reader, most: Most = 20, before: Version = None) -> JsonObject:
    """What it said before, the newest first."""
    with caller.transaction() as tx:
        return history.history(caller.principal, tx, record, most=most, before=before)


@of_a_record.get("/diff")
def compare_versions(record: Record, caller: Reader, before: Version = None, after: Version = None) -> JsonObject:
    """What changed between two of its texts, statement by statement; the newest two unless others are named."""
    with caller.transaction() as tx:
        return history.diff(caller.principal, tx, record, before, after)


@of_a_record.get("/why")
def explain_pulse(record: Record, caller: Viewer, version: Version = None) -> JsonObject:
    """The prompt that it came of: every candidate, in or out and why, and the prompt made again."""
    with caller.transaction() as tx:
        return why.why(caller.principal, tx, record, version)


router = APIRouter(prefix="/v1", tags=["pulse"])
router.include_router(of_a_record, prefix="/entities/{record_id:uuid}/pulse", dependencies=[Depends(_by_id)])
router.include_router(of_a_record, prefix="/entities/{type_key}/{key}/pulse", dependencies=[Depends(_by_handle)])


@router.get("/pulses")
def show_numbers(caller: Viewer, days: Days = 7) -> JsonObject:
    """What Pulses were written for how many changes, day by day (UTC), what that cost, and how fresh they were read."""
    with caller.transaction() as tx:
        return _numbers(caller, tx, days)


@router.put("/pulses/cap")
def put_pulse_cap(change: PulseCapChange, caller: Admin) -> JsonObject:
    """Give the tenant a daily Pulse budget of its own, or the deployment's again; its daily cap holds besides."""
    cap = change.pulse_daily_cap_usd
    with caller.transaction() as tx:
        if budget.set_cap(caller.principal, tx, cap, caller.now):
            told: JsonObject = {"pulse_daily_cap_usd": None if cap is None else f"{cap:f}"}
            target = f"tenant:{caller.principal.tenant_id}"
            audit.record(
                caller.principal, tx, "pulse_cap.changed", target, told, caller.now, caller.services.new_id
            )  # fmt: skip
        told_now = _numbers(caller, tx, 1)
    caller.embed_soon()  # what waited for room is due now
    return told_now


def _numbers(caller: Caller, tx: Transaction, days: int) -> JsonObject:
    return numbers.numbers(caller.principal, tx, days, caller.services.pulse_cap, caller.now)


def _send(caller: Caller, asked: asking.Asked) -> None:
    """A Pulse that nobody hears of now the sweep finds; a question would wait for ever, so its asker is told."""
    try:
        caller.services.pulse.send(asked.order.to_json(), 0)
    except QueueUnavailable as problem:
        if asked.order.question_id:
            raise
        log.error("pulse_not_woken", problem)
