"""The room's only way to the database."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries
from parlour.tools.rows import ToolCall, UnansweredCall, UnfinishedCall, UnfinishedHeavyCall, UnknownCall
from parlour.tools.tool_definition import Tool

SQL = Queries.for_module(__file__)


def list_tools(tx: Transaction, names: Sequence[str]) -> list[Tool]:
    return [
        replace(tool, allowed_hosts=tuple(tool.allowed_hosts))
        for tool in tx.all(SQL["list_tools"], Tool, names=list(names))
    ]


def reserve_call(tx: Transaction, **fields: object) -> None:
    tx.run(SQL["reserve_call"], **fields)


def begin_call(tx: Transaction, call_id: UUID) -> None:
    tx.run(SQL["begin_call"], id=call_id)


def end_call(tx: Transaction, **fields: object) -> None:
    tx.run(SQL["end_call"], **fields)


def give_up_calls(tx: Transaction, turn_id: UUID, unknown: JsonObject, cancelled: JsonObject, now: datetime) -> int:
    """How many calls became unknown."""
    return int(tx.value(SQL["give_up_calls"], turn_id=turn_id, unknown=unknown, cancelled=cancelled, now=now) or 0)


def list_unfinished(tx: Transaction, turn_id: UUID) -> list[UnfinishedCall]:
    return tx.all(SQL["list_unfinished"], UnfinishedCall, turn_id=turn_id)


def list_undispatched(tx: Transaction, turn_id: UUID) -> list[UUID]:
    return [row.id for row in tx.all(SQL["list_undispatched"], _IdRow, turn_id=turn_id)]


def find_call(tx: Transaction, call_id: UUID) -> ToolCall | None:
    return tx.first(SQL["find_call"], ToolCall, id=call_id)


def lease_call(
    tx: Transaction, call_id: UUID, run_token: int, holder: UUID, until: datetime, now: datetime
) -> int | None:
    """Return the new token; None when another worker has the call or it has ended."""
    found: int | None = tx.value(SQL["lease_call"], id=call_id, run=run_token, holder=holder, until=until, now=now)
    return found


def begin_run(tx: Transaction, call_id: UUID, run_token: int) -> bool:
    """Whether this run is still the call's."""
    return tx.run(SQL["begin_run"], id=call_id, run=run_token) == 1


def renew_run(tx: Transaction, call_id: UUID, run_token: int, until: datetime) -> bool:
    """Whether this run is still the call's, and its tool has not taken the call to answer later."""
    return tx.run(SQL["renew_run"], id=call_id, run=run_token, until=until) == 1


def end_run(tx: Transaction, **fields: object) -> bool:
    """Whether this run was still the call's."""
    return tx.value(SQL["end_run"], **fields) is not None


def mark_accepted(tx: Transaction, call_id: UUID, run_token: int, until: datetime) -> bool:
    """Whether the call was still running, and nobody wants it stopped."""
    return tx.run(SQL["mark_accepted"], id=call_id, run=run_token, until=until) == 1


def record_callback(tx: Transaction, **fields: object) -> bool:
    """Whether the word counted."""
    return tx.value(SQL["record_callback"], **fields) is not None


def is_run_wanted(tx: Transaction, call_id: UUID, run_token: int) -> bool:
    """Whether the run is still the call's, and nobody wants it stopped."""
    return tx.value(SQL["is_run_wanted"], id=call_id, run=run_token) is not None


def list_unknown(tx: Transaction, clearance: int, limit: int, session_id: UUID | None) -> list[UnknownCall]:
    return tx.all(SQL["list_unknown"], UnknownCall, clearance=clearance, most=limit, session_id=session_id)


def list_unanswered(
    tx: Transaction, clearance: int, now: datetime, limit: int, session_id: UUID | None
) -> list[UnansweredCall]:
    values = {"clearance": clearance, "now": now, "most": limit, "session_id": session_id}
    return tx.all(SQL["list_unanswered"], UnansweredCall, **values)


def resolve_done(tx: Transaction, call_id: UUID, result: JsonObject, by: str, now: datetime) -> bool:
    return tx.value(SQL["resolve_done"], id=call_id, result=result, by=by, now=now) is not None


def resolve_run_again(tx: Transaction, call_id: UUID, by: str, due_at: datetime, now: datetime) -> bool:
    return tx.value(SQL["resolve_run_again"], id=call_id, by=by, due_at=due_at, now=now) is not None


def list_unfinished_heavy(tx: Transaction, session_id: UUID) -> list[UUID]:
    return [row.id for row in tx.all(SQL["list_unfinished_heavy"], _IdRow, session_id=session_id)]


def lock_unfinished_heavy(tx: Transaction, call_id: UUID) -> UnfinishedHeavyCall | None:
    return tx.first(SQL["lock_unfinished_heavy"], UnfinishedHeavyCall, id=call_id)


def request_cancel(tx: Transaction, call_id: UUID, now: datetime) -> bool:
    return tx.value(SQL["request_cancel"], id=call_id, now=now) is not None


def stop_turn_calls(tx: Transaction, turn_id: UUID, now: datetime) -> list[UUID]:
    """Have the heavy calls of a turn stopped, but for writes under way; return them."""
    return [one.id for one in tx.all(SQL["stop_turn_calls"], _IdRow, turn_id=turn_id, now=now)]


def start_approved_call(tx: Transaction, **fields: object) -> None:
    tx.run(SQL["start_approved_call"], **fields)


def end_asked_call(tx: Transaction, **fields: object) -> None:
    tx.run(SQL["end_asked_call"], **fields)


class _IdRow:
    """A row of one id."""

    def __init__(self, id: UUID) -> None:  # noqa: A002 - the column's name
        self.id = id
