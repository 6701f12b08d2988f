"""Questions to a person as they go in and out as JSON."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from parlour.api.schemas import OptionalText, RequestModel, ResponseModel
from parlour.approvals import question
from parlour.approvals.approvals import may_answer
from parlour.approvals.rows import Approval
from parlour.principal import Principal
from parlour.tools.tool_definition import ARGUMENT_ORDER

type ApprovalState = Literal["asked", "approved", "refused", "expired", "superseded", "claimed", "done"]
type Approver = Literal["user", "viewer", "editor", "admin"]


class ArgumentView(ResponseModel):
    """An argument of the call as people read it."""

    label: str
    value: str


class ApprovalView(ResponseModel):
    """One question about one tool call.

    text: the exact effect. options: what can be answered. can_answer: whether the caller may answer now. reason: of a
    refusal, or why the question was replaced. status_text: how it stands, in a sentence. answered_by: who answered,
    such as "member:" and an id; users do not read which member it was.
    """

    id: UUID
    session_id: UUID
    state: ApprovalState
    approver: Approver
    tool: str
    text: str
    arguments: list[ArgumentView]
    raw_arguments: dict[str, JsonValue]
    options: list[str]
    channel: str
    reason: str
    status_text: str
    can_answer: bool
    created_at: datetime
    expires_at: datetime
    answered_at: datetime | None
    answered_by: str | None
    done_at: datetime | None

    @classmethod
    def from_approval(cls, principal: Principal, approval: Approval) -> "ApprovalView":
        """Return the question as this principal sees it."""
        return cls(
            id=approval.id,
            session_id=approval.session_id,
            state=approval.state,
            approver=approval.approver,
            tool=approval.tool,
            text=approval.question,
            arguments=[
                ArgumentView(label=row.label, value=row.value)
                for row in question.argument_rows(
                    approval.arguments, {ARGUMENT_ORDER: approval.bound.get("argument_order")}
                )
            ],
            raw_arguments=approval.arguments,
            options=approval.options,
            channel=approval.channel,
            reason=approval.reason,
            status_text=question.closed_text(approval),
            can_answer=approval.state == "asked" and may_answer(principal, approval),
            created_at=approval.created_at,
            expires_at=approval.expires_at,
            answered_at=approval.answered_at,
            answered_by=approval.answered_by if principal.kind != "user" or approval.approver == "user" else None,
            done_at=approval.done_at,
        )


class ApprovalPageView(ResponseModel):
    """Questions, latest first."""

    approvals: list[ApprovalView]
    next_cursor: str


class AlwaysAllow(RequestModel):
    """A permission to run the tool that is asked about without asking, until a time."""

    until: AwareDatetime


class ApprovalAnswer(RequestModel):
    """What a person decides. reason: what the model reads of a refusal. arguments: edited ones, shown again first.

    always: run the same tool without asking from now on.
    """

    decision: Literal["approve", "refuse"]
    reason: Annotated[OptionalText, Field(max_length=500)] = ""
    arguments: dict[str, JsonValue] | None = None
    always: AlwaysAllow | None = None


class InterruptAnswer(BaseModel):
    """The payload of AG-UI's `resume` for a question. editedArgs: all arguments, which are shown again first."""

    model_config = ConfigDict(frozen=True)

    approved: bool
    reason: Annotated[OptionalText, Field(max_length=500)] = ""
    edited_arguments: dict[str, JsonValue] | None = Field(default=None, alias="editedArgs")


class ApprovalAnswerView(ResponseModel):
    """What the answer came to. approval: the question, or the newer one about edited arguments."""

    code: Literal["approved", "refused", "asked_again"]
    message: str
    approval: ApprovalView


class GrantView(ResponseModel):
    """A permission to run a tool without asking. It counts while `granted_by` could approve the tool."""

    id: UUID
    user_id: UUID
    binding_id: UUID
    tool: str
    granted_by: str
    created_at: datetime
    expires_at: datetime


class GrantPageView(ResponseModel):
    """Permissions that hold now, latest first."""

    grants: list[GrantView]
    next_cursor: str
