"""Questions to a person about tool calls: read, answered, and allowed for longer."""

from typing import Annotated, Literal, cast
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.approval_answers import give_answer
from parlour.api.approval_schemas import (
    ApprovalAnswer,
    ApprovalAnswerView,
    ApprovalPageView,
    ApprovalView,
    GrantPageView,
    GrantView,
)
from parlour.api.authorization import AnyCaller, Caller
from parlour.api.schemas import PageCursor
from parlour.approvals import approvals, grants
from parlour.approvals.approvals import Answer
from parlour.infra.errors import Conflict
from parlour.tenancy import roles

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])

Limit = Annotated[int, Query(ge=1, le=100)]
OnlyOpen = Annotated[Literal["open", "all"], Query(alias="state", description="only open questions, or all")]


@router.get("")
def list_approvals(
    caller: AnyCaller,
    state: OnlyOpen = "open",
    session_id: UUID | None = None,
    cursor: PageCursor = "",
    limit: Limit = 50,
) -> ApprovalPageView:
    """List questions, latest first: a visitor's own; for members those of the conversations that they may read.

    `session_id` names one conversation.
    """
    _require_reader(caller)
    with caller.transaction() as tx:
        page = approvals.list_approvals(
            caller.principal,
            tx,
            only_open=state == "open",
            limit=limit,
            cursor=cursor,
            session_id=_own_session(caller) or session_id,
        )
    shown = [ApprovalView.from_approval(caller.principal, row) for row in page.rows]
    return ApprovalPageView(approvals=shown, next_cursor=page.next_cursor)


@router.get("/grants")
def list_approval_grants(caller: AnyCaller, cursor: PageCursor = "", limit: Limit = 50) -> GrantPageView:
    """List the permissions that hold now: a visitor's own; for members those of users whom they may read."""
    with caller.transaction() as tx:
        page = grants.list_grants(caller.principal, tx, caller.now, limit, cursor)
    return GrantPageView(grants=[GrantView.model_validate(row) for row in page.rows], next_cursor=page.next_cursor)


@router.delete("/grants/{grant_id}", status_code=204)
def revoke_approval_grant(grant_id: UUID, caller: AnyCaller) -> None:
    """End a permission now: one's own, or any as an administrator."""
    with caller.transaction() as tx:
        grants.revoke(caller.principal, tx, grant_id, caller.now)


@router.get("/{approval_id}")
def get_approval(approval_id: UUID, caller: AnyCaller) -> ApprovalView:
    """Return one question and how it stands."""
    _require_reader(caller)
    with caller.transaction() as tx:
        found = approvals.get_approval(caller.principal, tx, approval_id)
    caller.check_session_token(found.session_id)
    return ApprovalView.from_approval(caller.principal, found)


@router.post("/{approval_id}/answer")
def answer_approval(approval_id: UUID, body: ApprovalAnswer, caller: AnyCaller) -> ApprovalAnswerView:
    """Answer a question that the caller is asked. Only the first answer counts; the call runs once.

    Edited arguments are checked and shown again as a new question. A question that was answered, that expired, or whose
    tool, records or rights changed since is a conflict, and the message says which.
    """
    _require_reader(caller)
    who = caller.principal
    outcome = give_answer(caller, approval_id, Answer(body.decision, body.reason, body.arguments), body.always)
    if outcome.code in {"closed", "expired", "changed"}:
        raise Conflict(outcome.text)
    return ApprovalAnswerView(
        code=cast("Literal['approved', 'refused', 'asked_again']", outcome.code),
        message=outcome.text,
        approval=ApprovalView.from_approval(who, outcome.approval),
    )


def _require_reader(caller: Caller) -> None:
    if caller.principal.kind != "user":
        roles.require_role(caller.principal, "viewer")


def _own_session(caller: Caller) -> UUID | None:
    """Return the only session that a session token opens; None for anybody else."""
    visitor = caller.signed_in.visitor
    return visitor.session_id if visitor else None
