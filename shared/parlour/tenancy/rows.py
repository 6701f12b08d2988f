"""The rows of this room, one frozen record each. Columns and fields have the same names. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from parlour.infra.json_values import JsonObject

type TenantStatus = Literal["active", "paused", "archived"]
"""active: turns are answered; paused: they get a polite line; archived: closed, only the operator enters."""

type SessionVisibility = Literal["private", "role_gated", "shared"]
"""Who of a tenant's own people reads a conversation besides its user and the viewers, as far as their clearance goes:
nobody; editors; every member and key."""

type ConfigKind = Literal["tenant", "human", "team", "agent", "binding", "tool", "entity_type"]
"""What has versions: the three tiers of a persona and the rest of a tenant's configuration."""


@dataclass(frozen=True, slots=True)
class Tenant:
    """A customer of the deployment; the unit of isolation."""

    tenant_id: UUID
    slug: str
    display_name: str
    status: TenantStatus
    settings: JsonObject
    version: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class TenantLabel:
    """A tenant by its slug and name."""

    slug: str
    display_name: str


@dataclass(frozen=True, slots=True)
class RoutingKey:
    """Where a routing key leads. A key of a tenant as a whole has no binding."""

    key: str
    tenant_id: UUID
    binding_id: UUID | None


@dataclass(frozen=True, slots=True)
class RoutingClaim:
    """A tenant's claim of a key. released_at: when the tenant gave the key up; None while the claim waits."""

    key: str
    tenant_id: UUID
    claimed_at: datetime
    released_at: datetime | None


@dataclass(frozen=True, slots=True)
class WaitingClaim:
    """A claim of one's own that waits for the operator; binding: its slug."""

    key: str
    binding_id: UUID
    binding: str
    claimed_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingRoute:
    """A claim of some tenant that waits for the operator; slug: the tenant's."""

    slug: str
    key: str


@dataclass(frozen=True, slots=True)
class User:
    """An end user of a tenant.

    clearance       None where the binding's applies.
    is_verified     whether a messaging channel has verified who it is.
    has_unverified  whether they created records that no member has accepted.
    token_epoch     tokens of an earlier epoch are refused.
    member          {"issuer", "subject", "roles", "is_active"} of the member who talks as this user, if one does.
    """

    tenant_id: UUID
    id: UUID
    phone: str | None
    display_name: str | None
    locale: str | None
    clearance: int | None
    created_at: datetime
    is_verified: bool
    has_unverified: bool
    token_epoch: int
    member: JsonObject | None


@dataclass(frozen=True, slots=True)
class Session:
    """A thread between a user and a binding, optionally about one entity.

    required_clearance which others need to read it: the highest of the binding's, the user's own, its record's level
                       now, and those of the sources that its answers used.
    visibility         of one about a record: what the record's type said when it was opened; of any other "private".
    title              "" while nothing was said that names it.
    archived_at        since when its user has archived it.
    last_event_number  the number of the newest event of its feed.
    """

    id: UUID
    user_id: UUID
    binding_id: UUID
    entity_id: UUID | None
    visibility: SessionVisibility
    channel: str
    title: str
    is_main: bool
    pinned_at: datetime | None
    archived_at: datetime | None
    created_at: datetime
    last_active_at: datetime
    last_event_number: int
    required_clearance: int


@dataclass(frozen=True, slots=True)
class Contact:
    """Who wrote, and in which session. `is_new`: this very call made the session."""

    user_id: UUID
    session_id: UUID
    is_new: bool


@dataclass(frozen=True, slots=True)
class RateLimitRow:
    """A token bucket: what was left at `refilled_at`, and how many requests it has refused."""

    scope: str
    key: str
    tokens: float
    refilled_at: datetime
    was_refused: bool
    refused_count: int


@dataclass(frozen=True, slots=True)
class Member:
    """Somebody of the tenant, known by the subject that an OIDC issuer gives them."""

    id: UUID
    issuer: str
    subject: str
    display_name: str
    roles: list[str]
    clearance: int
    active: bool
    created_at: datetime
    email: str | None


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key, without its secret: that is shown once and then known by its hash alone.

    expires_at    None: never.
    last_used_at  to within ten minutes.
    scopes        the parts of the API that it opens, by the tags of routes; empty: all.
    """

    id: UUID
    name: str
    roles: list[str]
    clearance: int
    created_at: datetime
    revoked_at: datetime | None
    expires_at: datetime | None
    last_used_at: datetime | None
    scopes: list[str]


@dataclass(frozen=True, slots=True)
class CredentialRow:
    """A row that lets somebody in: a member's or a key's, with the tenant it belongs to.

    `secret_hash` is a key's; `tenant` is the tenant's row as JSON.
    """

    id: UUID
    name: str
    roles: list[str]
    clearance: int
    secret_hash: bytes | None
    scopes: list[str]
    tenant: JsonObject


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One administrative act. `actor` is a principal and `target` what it changed, both as `<kind>:<id>`; names are ""
    when unknown, or not the reader's to see."""

    id: UUID
    actor: str
    actor_name: str
    action: str
    target: str
    target_name: str
    details: JsonObject
    at: datetime


@dataclass(frozen=True, slots=True)
class TenantSecret:
    """One secret that a tenant's pack names.

    name       what the tenant's bindings and tools call it.
    reference  its name in the secret store.
    used_by    bindings and tools that need it, as `binding site-desk` and `tool raise_rfi`.
    """

    name: str
    reference: str
    used_by: list[str]
