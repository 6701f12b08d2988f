"""Asking a person about a tool call, taking the answer, and claiming the call once before it runs."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from parlour.approvals import bound_call, question, store
from parlour.approvals.rows import OPTIONS, Approval, Approver, Decision
from parlour.inbox.service_hours import persona_locale
from parlour.infra.errors import (
    ApprovalChanged,
    ApprovalExpired,
    ApprovalRefused,
    Forbidden,
    InvalidRequest,
    ModelError,
    NotFound,
)
from parlour.infra.ids import uuid7
from parlour.infra.json_values import JsonObject, canonical_digest
from parlour.infra.page_cursor import Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.jobs import work_due
from parlour.jobs.work_due import CHECK_DELAY
from parlour.principal import Principal
from parlour.records import type_registry
from parlour.records.record_type import RecordType
from parlour.tenancy import bindings, users
from parlour.text.local_times import Locale
from parlour.tools import calls
from parlour.tools.arguments import validate_arguments
from parlour.tools.registry import load_tools
from parlour.tools.result import error_result
from parlour.tools.rows import ClaimedCall, EndedCall, ToolCall
from parlour.tools.tool_definition import Tool

type OutcomeCode = Literal["approved", "refused", "asked_again", "expired", "changed", "closed"]

_MAX_REASON_CHARS = 500
_NOT_FOUND = "approval not found"


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A call about which somebody is asked, and where. code_version: of the tool, as `rehearse_call` returns it."""

    tool: Tool
    code_version: str
    arguments: JsonObject
    tool_call_id: UUID
    session_id: UUID
    binding_id: UUID
    user_id: UUID
    channel: str
    shown_level: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person answered. arguments: edited ones, which are shown again before anything runs."""

    decision: Decision
    reason: str = ""
    arguments: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an answer came to.

    ended        the call, when it ended without having run: its conversation has to be told.
    dispatch_id  the call that the dispatcher has to be woken for.
    """

    code: OutcomeCode
    text: str
    approval: Approval
    ended: EndedCall | None = None
    dispatch_id: UUID | None = None


def new_approval(tx: Transaction, asked: AskedCall, now: datetime) -> Approval:
    """Return the question about a call; nothing is stored yet."""
    owner = bound_call.CallOwner(asked.user_id, asked.binding_id, asked.session_id)
    bound = bound_call.load_bound_call(tx, asked.tool, asked.code_version, asked.arguments, owner)
    return Approval(
        id=uuid7(now),
        session_id=asked.session_id,
        binding_id=asked.binding_id,
        user_id=asked.user_id,
        tool_call_id=asked.tool_call_id,
        approver=_approver(asked.tool.approver),
        tool=asked.tool.name,
        arguments=asked.arguments,
        question=question.question_text(
            asked.tool, asked.arguments, _written_record_type(tx, asked), _locale(tx, asked)
        ),
        options=[*OPTIONS, *(["edit"] if _is_editable(asked.tool, asked.tool.approver) else [])],
        channel=asked.channel,
        bound=bound,
        bound_hash=canonical_digest(bound),
        shown_level=asked.shown_level,
        state="asked",
        created_at=now,
        posted_at=now,
        expires_at=now + timedelta(hours=asked.tool.approval_hours),
    )


def ask(tx: Transaction, approval: Approval) -> None:
    """Store the question and when it expires. Open questions of earlier steps about the same tool are withdrawn.

    Idempotent. Several calls of one step are asked about side by side, unless they are the same.
    """
    store.withdraw_same_tool(tx, approval)
    store.insert_approval(tx, approval)
    work_due.schedule(tx, "approval", approval.id, approval.expires_at)


def list_open(tx: Transaction, session_id: UUID) -> list[Approval]:
    """Return the open questions of a session, oldest first."""
    return store.list_open(tx, session_id)


def list_approved(tx: Transaction, session_id: UUID) -> list[Approval]:
    """Return the questions of a session whose calls were agreed to and have not ended, oldest first."""
    return store.list_approved(tx, session_id)


def list_closed_in_turn(tx: Transaction, turn_id: UUID) -> list[Approval]:
    """Return the questions whose outcome is a message of the turn."""
    return store.list_closed_in_turn(tx, turn_id)


def mark_posted(tx: Transaction, session_id: UUID, now: datetime) -> None:
    """Record that the open questions of a session were put to its user just now."""
    store.mark_posted(tx, session_id, now)


def find_approval_of_user(tx: Transaction, approval_id: UUID, user_id: UUID) -> Approval | None:
    """Return a question that this user was asked; None when there is none."""
    found = store.find_approval(tx, approval_id)
    return found if found and found.approver == "user" and found.user_id == user_id else None


def get_approval(principal: Principal, tx: Transaction, approval_id: UUID) -> Approval:
    """Return a question that the principal may see; NotFound otherwise."""
    found = store.find_approval(tx, approval_id)
    if found is None or not _can_see(principal, tx, found):
        raise NotFound(_NOT_FOUND)
    return found


def list_approvals(
    principal: Principal,
    tx: Transaction,
    *,
    only_open: bool,
    limit: int,
    cursor: str = "",
    session_id: UUID | None = None,
) -> Page[Approval]:
    """Return questions, latest first: a user's own, or those that a member may read; of one session, if it is named."""
    before_at, before_id = decode_id_cursor(cursor) if cursor else (None, None)
    rows = store.list_approvals(
        tx,
        user_id=principal.id if principal.kind == "user" else None,
        clearance=principal.clearance,
        session_id=session_id,
        only_open=only_open,
        before_at=before_at,
        before_id=before_id,
        limit=limit + 1,
    )
    return cut_page(rows, limit, lambda row: (row.created_at, row.id))


def answer(principal: Principal, tx: Transaction, approval_id: UUID, given: Answer, now: datetime) -> Outcome:
    """Take an answer once; every later one reads how the question stands.

    Raises:
        NotFound: the principal may not see the question.
        Forbidden: they may see it, and somebody else is asked.
        InvalidArguments: edited arguments do not fit the tool's schema.
        InvalidRequest: the arguments were edited by the user, and the tool does not let them.
    """
    approval = get_approval(principal, tx, approval_id)
    if not may_answer(principal, approval):
        who = (
            "the user of the conversation is asked"
            if approval.approver == "user"
            else f"this needs {approval.approver}"
        )
        raise Forbidden(f"you cannot answer this question: {who}")
    return answer_as(tx, approval, principal.name, given, now)


def answer_as(tx: Transaction, approval: Approval, by: str, given: Answer, now: datetime) -> Outcome:
    """Take the answer of somebody whose right to give it was checked."""
    locked = store.lock_approval(tx, approval.id) or approval
    if locked.state != "asked":
        return Outcome("closed", question.closed_text(locked), locked)
    if locked.expires_at <= now:
        return expire(tx, locked, now)
    if given.decision == "refuse":
        return _refuse(tx, locked, by, given.reason[:_MAX_REASON_CHARS], now)
    tool = next(iter(load_tools(tx, [locked.tool])), None)
    if (changed := _find_change(tx, locked, tool)) is not None:
        return _end(tx, locked, "changed", ApprovalChanged(changed), changed, now)
    if given.arguments is not None and given.arguments != locked.arguments and tool is not None:
        return _ask_again(tx, locked, tool, given.arguments, now)
    store.approve(tx, locked.id, by, now)
    calls.start_approved_call(tx, locked.tool_call_id, locked.arguments, now, now + CHECK_DELAY)
    approved = replace(locked, state="approved", answered_at=now, answered_by=by)
    return Outcome("approved", "Approved. It is being done now.", approved, dispatch_id=locked.tool_call_id)


def expire(tx: Transaction, approval: Approval, now: datetime) -> Outcome:
    """End a question that nobody answered in time."""
    closed = replace(approval, state="expired")
    return _end(tx, approval, "expired", ApprovalExpired(), question.closed_text(closed), now)


def claim(tx: Transaction, call: ToolCall, tool: Tool | None, now: datetime) -> ClaimedCall:
    """Claim an approved call for the worker that is about to run it, after everything was compared again.

    The code of a pack's function is compared where it runs. A call that nobody was asked about, that was claimed by an
    earlier attempt, or that an administrator has run again since, may run.
    """
    approval = store.lock_call_approval(tx, call.id)
    if approval is None:
        return ClaimedCall()
    claimed = ClaimedCall(approval.shown_level, bound_call.code_version(approval))
    if approval.state in {"claimed", "done"}:
        return claimed
    problem: ModelError | None = None
    if approval.state == "superseded":  # by an earlier attempt, which died before it ended the call
        problem = ApprovalChanged(approval.reason)
    elif (changed := _find_change(tx, approval, tool, call.arguments)) is not None:
        store.close(tx, approval.id, "superseded", changed, now)
        problem = ApprovalChanged(changed)
    elif not store.claim(tx, approval.id, now):
        store.close(tx, approval.id, "expired", "", now)
        problem = ApprovalExpired()
    return replace(claimed, refusal=problem)


def complete(tx: Transaction, tool_call_id: UUID, now: datetime) -> None:
    """Record that a claimed call has ended. Without effect for any other call."""
    store.complete(tx, tool_call_id, now)


def may_answer(principal: Principal, approval: Approval) -> bool:
    """Return whether the principal is the person asked."""
    return is_approver(principal, approval.approver, approval.user_id)


def is_approver(principal: Principal, approver: Approver, user_id: UUID) -> bool:
    """Return whether the principal is whom a tool asks about a call in a conversation of the user."""
    if approver == "user":
        return principal.kind == "user" and principal.id == user_id
    return principal.kind != "user" and principal.has_role("viewer") and principal.has_role(approver)


def find_open_by_due_work(tx: Transaction, approval_id: UUID) -> Approval | None:
    """Lock a question that is still open; None when it is not."""
    found = store.lock_approval(tx, approval_id)
    return found if found and found.state == "asked" else None


def _refuse(tx: Transaction, approval: Approval, by: str, reason: str, now: datetime) -> Outcome:
    store.refuse(tx, approval.id, by, reason, now)
    refusal = error_result(ApprovalRefused()).content | {"reason": reason}
    ended = calls.end_asked_call(tx, approval.tool_call_id, ApprovalRefused.code, refusal, now)
    refused = replace(approval, state="refused", answered_at=now, answered_by=by, reason=reason)
    return Outcome("refused", "Refused. Nothing was done.", refused, ended=ended)


def _end(
    tx: Transaction,
    approval: Approval,
    code: Literal["expired", "changed"],
    error: ModelError,
    text: str,
    now: datetime,
) -> Outcome:
    state: Literal["expired", "superseded"] = "expired" if code == "expired" else "superseded"
    reason = text if code == "changed" else ""
    store.close(tx, approval.id, state, reason, now)
    result = error_result(error).content | {"reason": text}
    ended = calls.end_asked_call(tx, approval.tool_call_id, error.code, result, now)
    closed = replace(approval, state=state, reason=reason)
    return Outcome(code, question.closed_text(closed), closed, ended=ended)


def _locale(tx: Transaction, call: AskedCall) -> Locale:
    """Return how the people of the call's conversation read times."""
    persona = bindings.load_persona(tx, call.binding_id)
    return persona_locale(persona) if persona else question.ENGLISH


def _written_record_type(tx: Transaction, call: AskedCall) -> RecordType | None:
    """Return the type of the record that the call writes; None for another call and for an unknown type."""
    type_key = question.written_record_type(call.tool, call.arguments)
    return type_registry.list_record_types(tx).get(type_key) if type_key else None


def _ask_again(tx: Transaction, approval: Approval, tool: Tool, arguments: JsonObject, now: datetime) -> Outcome:
    """Replace the question by one about edited arguments, which the person sees before anything runs.

    It is asked whatever the policy says of these arguments, and no grant covers it.
    """
    if not _is_editable(tool, approval.approver):
        raise InvalidRequest("arguments: they cannot be changed here; refuse, and say what should be different")
    validate_arguments(tool.schema, arguments)
    asked = AskedCall(
        tool,
        bound_call.code_version(approval),
        arguments,
        approval.tool_call_id,
        approval.session_id,
        approval.binding_id,
        approval.user_id,
        approval.channel,
        approval.shown_level,
    )
    store.close(tx, approval.id, "superseded", "The arguments were edited; answer the newer question.", now)
    renewed = new_approval(tx, asked, now)
    ask(tx, renewed)
    return Outcome("asked_again", "The arguments changed. Check them and answer again.", renewed)


def _find_change(
    tx: Transaction, approval: Approval, tool: Tool | None, arguments: JsonObject | None = None
) -> str | None:
    return bound_call.find_change(tx, approval, tool, approval.arguments if arguments is None else arguments)


def _is_editable(tool: Tool, approver: str) -> bool:
    """Return whether the person asked may change the arguments."""
    return tool.editable or approver != "user"


def _can_see(principal: Principal, tx: Transaction, approval: Approval) -> bool:
    if principal.kind == "user":
        return principal.id == approval.user_id
    if not principal.has_role("viewer") or approval.shown_level > principal.clearance:
        return False
    return users.can_read_session(principal, tx, approval.session_id)


def _approver(value: str) -> Approver:
    if value not in {"user", "viewer", "editor", "admin"}:
        return "admin"
    return value  # type: ignore[return-value]  # checked above
