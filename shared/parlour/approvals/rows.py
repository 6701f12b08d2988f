"""Rows of the room. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject

type Approver = Literal["user", "viewer", "editor", "admin"]
"""Who is asked: the user of the conversation, or the members with a role."""

type ApprovalState = Literal["asked", "approved", "refused", "expired", "superseded", "claimed", "done"]
"""asked: open; approved: a person agreed; claimed: a worker is about to run the call; done: the call has ended."""

type Decision = Literal["approve", "refuse"]

OPTIONS = ("approve", "refuse")
"""What a person can answer."""


@dataclass(frozen=True, slots=True)
class Approval:
    """One question about one tool call.

    bound        what was asked about, as `bound_call.load_bound_call` returns it; bound_hash: its digest.
    options      what the person asked can do: OPTIONS, and "edit" where they may change the arguments.
    shown_level  the highest classification that the conversation had shown.
    posted_at    when the question was last put to the user.
    """

    id: UUID
    session_id: UUID
    binding_id: UUID
    user_id: UUID
    tool_call_id: UUID
    approver: Approver
    tool: str
    arguments: JsonObject
    question: str
    options: list[str]
    channel: str
    bound: JsonObject
    bound_hash: str
    shown_level: int
    state: ApprovalState
    created_at: datetime
    posted_at: datetime
    expires_at: datetime
    reason: str = ""
    answered_at: datetime | None = None
    answered_by: str | None = None
    done_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NamedRecord:
    """A record that a call's arguments name. unverified_by: who created it, until a member accepts it."""

    handle: str
    version: int
    unverified_by: str | None


@dataclass(frozen=True, slots=True)
class Grant:
    """A permission to run calls of one tool, for one user and binding, without a question, until a time.

    granted_by  the name of the principal who gave it.
    """

    id: UUID
    user_id: UUID
    binding_id: UUID
    tool: str
    granted_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GrantGiver:
    """Who gave a permission, with the rights that they have now, and what a call of its tool needs now.

    user_id             whose conversation it is.
    approver            whom the tool asks.
    required_clearance  the clearance that reading the conversation needs.
    roles, clearance    those of a member or a key; none once they have left or ended.
    """

    granted_by: str
    user_id: UUID
    approver: Approver
    required_clearance: int
    roles: list[str]
    clearance: int
