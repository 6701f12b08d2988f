"""Who may do what in the tenant, and who did: keys, members, the audit trail."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parlour.api.authorization import Admin, AnyCaller, AppDependencies, RequestCredentials, Viewer
from parlour.api.dependencies import ApiDependencies
from parlour.api.people_schemas import (
    AuditPageView,
    CallerView,
    CreatedKeyView,
    KeyPageView,
    KeyView,
    MemberChange,
    MemberPageView,
    MemberView,
    NewKey,
    NewMember,
    RateLimitPageView,
    TenantChoiceView,
    TenantLabelView,
    UserClearance,
)
from parlour.api.schemas import PageCursor
from parlour.memory.inspection import user_memory
from parlour.tenancy import api_keys, audit, members, rate_limits, roles, users
from parlour.tenancy.api_keys import NewApiKey
from parlour.tenancy.authentication import Credentials

router = APIRouter(prefix="/v1", tags=["people"])

Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/me")
def get_me(caller: AnyCaller, given: RequestCredentials) -> CallerView:
    """Whom the credentials are good for, and what they may do: what a page offers, it offers by this."""
    who = caller.principal
    choice = _tenant_choice(caller.dependencies, given, caller.now)
    shown = {
        "kind": who.kind,
        "name": caller.signed_in.name,
        "tenant": caller.signed_in.tenant.slug,
        "roles": [role for role in sorted(roles.ROLES) if who.has_role(role)],
        "clearance": who.clearance,
    }
    return CallerView.model_validate({**choice.model_dump(), **shown})


@router.get("/me/tenants")
def list_my_tenants(services: AppDependencies, given: RequestCredentials) -> TenantChoiceView:
    """List the tenants that the credentials may enter, at most 200; needs no Parlour-Tenant header."""
    return _tenant_choice(services, given, services.clock())


def _tenant_choice(services: ApiDependencies, given: Credentials, now: datetime) -> TenantChoiceView:
    with services.databases.borrow() as database:
        choice = services.authenticator.list_tenants(given, database, now)
    shown = [TenantLabelView.model_validate(tenant) for tenant in choice.tenants]
    return TenantChoiceView(tenants=shown, has_more_tenants=choice.has_more)


@router.post("/keys", status_code=201)
def create_key(wanted: NewKey, caller: Admin) -> CreatedKeyView:
    """Make an API key; its text is in this answer and nowhere else. An API key cannot make another."""
    with caller.transaction() as tx:
        created = api_keys.create_key(caller.principal, tx, NewApiKey(**wanted.model_dump()), caller.now)
    return CreatedKeyView(**KeyView.model_validate(created.key).model_dump(), key=created.text)


@router.get("/keys")
def list_keys(caller: Admin, cursor: PageCursor = "", limit: Limit = 100) -> KeyPageView:
    """List the tenant's API keys, revoked ones too, newest first."""
    with caller.transaction() as tx:
        page = api_keys.list_keys(caller.principal, tx, limit, cursor)
    return KeyPageView.model_validate({"keys": page.rows, "next_cursor": page.next_cursor})


@router.delete("/keys/{key_id}")
def revoke_key(key_id: UUID, caller: Admin) -> KeyView:
    """Revoke a key immediately."""
    with caller.transaction() as tx:
        key = api_keys.revoke_key(caller.principal, tx, key_id, caller.now)
    return KeyView.model_validate(key)


@router.post("/members", status_code=201)
def add_member(wanted: NewMember, caller: Admin) -> MemberView:
    """Let somebody sign in with their OIDC token. An API key cannot."""
    with caller.transaction() as tx:
        member = members.add_member(caller.principal, tx, members.NewMember(**wanted.model_dump()), caller.now)
    return MemberView.model_validate(member)


@router.get("/members")
def list_members(caller: Admin, cursor: PageCursor = "", limit: Limit = 100) -> MemberPageView:
    """List the tenant's members, by name."""
    with caller.transaction() as tx:
        page = members.list_members(caller.principal, tx, limit, cursor)
    return MemberPageView.model_validate({"members": page.rows, "next_cursor": page.next_cursor})


@router.put("/members/{member_id}")
def update_member(member_id: UUID, change: MemberChange, caller: Admin) -> MemberView:
    """Set what a member may do from their next request on. An API key cannot."""
    with caller.transaction() as tx:
        member = members.update_member(
            caller.principal, tx, member_id, members.MemberChange(**change.model_dump()), caller.now
        )
    return MemberView.model_validate(member)


@router.put("/users/{user_id}/clearance", status_code=204)
def set_user_clearance(user_id: UUID, change: UserClearance, caller: Admin) -> None:
    """Set what a user may see through every binding; null: what the binding says. An API key cannot."""
    with caller.transaction() as tx:
        user_memory.require_visible_user(caller.principal, tx, user_id)
        users.set_user_clearance(caller.principal, tx, user_id, change.clearance, caller.now)


@router.post("/users/{user_id}/sign-out", status_code=204)
def sign_user_out(user_id: UUID, caller: Admin) -> None:
    """Refuse all tokens of a user from now on. The user starts a new session, or links their phone again."""
    with caller.transaction() as tx:
        user_memory.require_visible_user(caller.principal, tx, user_id)
        users.sign_out(caller.principal, tx, user_id, caller.now)


@router.post("/me/sign-out", status_code=204)
def sign_out_everywhere(caller: AnyCaller) -> None:
    """Refuse all tokens of the visitor, including this one. Needs the `visitor_token`."""
    user_id = caller.require_visitor().user_id
    with caller.transaction() as tx:
        users.sign_out(caller.principal, tx, user_id, caller.now)


@router.get("/limits")
def list_limits(caller: Viewer, cursor: PageCursor = "", limit: Limit = 50) -> RateLimitPageView:
    """List the token buckets of visitors, addresses and bindings: those that refused somebody first."""
    with caller.transaction() as tx:
        page = rate_limits.list_limits(caller.principal, tx, limit, cursor)
    return RateLimitPageView.model_validate({"limits": page.rows, "next_cursor": page.next_cursor})


@router.get("/audit")
def list_audit_entries(caller: Viewer, cursor: PageCursor = "", limit: Limit = 50) -> AuditPageView:
    """List the latest administrative acts, newest first."""
    with caller.transaction() as tx:
        page = audit.list_entries(caller.principal, tx, limit, cursor)
    return AuditPageView.model_validate({"entries": page.rows, "next_cursor": page.next_cursor})
