"""API keys, members, limits and the audit log as they go in and out as JSON."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field, JsonValue

from parlour.api.schemas import Clearance, RequestModel, ResponseModel, Roles, SingleLine

_EMAIL = r"^$|^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@([A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63}$"
MemberEmail = Annotated[str, Field(max_length=254, pattern=_EMAIL)]


class NewKey(RequestModel):
    """An API key to make. Nobody can give more clearance than they have.

    expires_at: null: never. scopes: the parts of the API that it opens; empty: all.
    """

    name: SingleLine
    roles: Roles = Field(default_factory=list)
    clearance: Clearance = 1
    expires_at: AwareDatetime | None = None
    scopes: Annotated[list[SingleLine], Field(default_factory=list, max_length=20)]


class NewMember(RequestModel):
    """Somebody who may sign in with a token of `issuer` that says `subject`."""

    issuer: SingleLine
    subject: SingleLine
    display_name: SingleLine
    roles: Roles = Field(default_factory=list)
    clearance: Clearance = 1
    email: MemberEmail = ""


class MemberChange(RequestModel):
    """What a member may do from now on."""

    roles: Roles
    clearance: Clearance
    active: bool = True
    email: MemberEmail | None = Field(default=None, description="Null keeps the address; empty takes it away.")


class UserClearance(RequestModel):
    """What a user may see through every binding; null: what the binding says."""

    clearance: Clearance | None


class KeyView(ResponseModel):
    """An API key without its secret."""

    id: UUID
    name: str
    roles: list[str]
    clearance: int
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None
    last_used_at: datetime | None
    scopes: list[str]


class CreatedKeyView(KeyView):
    """A new API key; `key` is its text, shown this once."""

    key: str


class MemberView(ResponseModel):
    """Somebody of the tenant."""

    id: UUID
    issuer: str
    subject: str
    display_name: str
    roles: list[str]
    clearance: int
    active: bool
    email: str | None
    created_at: datetime


class TenantLabelView(ResponseModel):
    """A tenant by its slug and name."""

    slug: str
    display_name: str


class TenantChoiceView(ResponseModel):
    """The tenants that a sign-in may enter, by slug; has_more_tenants: there are more than are listed."""

    tenants: list[TenantLabelView]
    has_more_tenants: bool


class CallerView(TenantChoiceView):
    """Who is calling: `kind` as principals have it, every role that they hold, the tenant's slug.

    name  what people call them: a member's or key's name; "" when it is unknown.
    """

    kind: Literal["user", "member", "key", "operator"]
    name: str
    tenant: str
    roles: list[str]
    clearance: int


class KeyPageView(ResponseModel):
    """Some API keys, newest first; `next_cursor` reads on, "" when these are the last."""

    keys: list[KeyView]
    next_cursor: str


class MemberPageView(ResponseModel):
    """Some members, by name; `next_cursor` reads on, "" when these are the last."""

    members: list[MemberView]
    next_cursor: str


class RateLimitView(ResponseModel):
    """A token bucket.

    scope          whom it limits: a visitor, an address or a binding; `key` tells them apart.
    tokens         requests that were left at `refilled_at`.
    was_refused    whether the last request was refused.
    refused_count  how many were.
    """

    scope: str
    key: str
    tokens: float
    refilled_at: datetime
    was_refused: bool
    refused_count: int


class RateLimitPageView(ResponseModel):
    """Some token buckets, those that refused somebody first; `next_cursor` reads on, "" when these are the last."""

    limits: list[RateLimitView]
    next_cursor: str


class AuditEntryView(ResponseModel):
    """An administrative act.

    actor    who did it, as `kind:id`; actor_name: what people call them, "" when unknown.
    action   what was done, such as `key.revoked`.
    target   to what, as `kind:id`; target_name: its name, "" when unknown or above the reader's clearance.
    details  ids, numbers, roles and states.
    """

    id: UUID
    actor: str
    actor_name: str
    action: str
    target: str
    target_name: str
    details: dict[str, JsonValue]
    at: datetime


class AuditPageView(ResponseModel):
    """Some administrative acts, latest first; `next_cursor` reads on, "" when these are the last."""

    entries: list[AuditEntryView]
    next_cursor: str
