"""Who is calling: from the headers of a request to a principal of one tenant.

Four kinds of bearer, told apart by their form alone: an API key, a visitor's token, an issuer's token (a member),
and anything else, which can only be the operator's key. Whatever is wrong with any of them, the caller hears the
same sentence; the log has the reason.
"""

import hmac
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from parlour.infra import log
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound, Unauthenticated
from parlour.infra.postgres import Database
from parlour.principal import Principal, PrincipalKind
from parlour.tenancy import (
    api_keys,
    bindings,
    roles,
    routing_keys,
    signed_tokens,
    store,
    tenants,
    users,
    visitor_tokens,
)
from parlour.tenancy.access import compute_access
from parlour.tenancy.limits import DEFAULT_LIMITS, Limits
from parlour.tenancy.oidc import Identity, TrustedIssuers
from parlour.tenancy.rows import CredentialRow, RoutingKey, Tenant, TenantLabel
from parlour.tenancy.store import ActingUser
from parlour.tenancy.visitor_tokens import VisitorClaims, VisitorToken

__all__ = [
    "AuthenticatedCaller",
    "Authenticator",
    "Credentials",
    "TenantChoice",
    "VisitorClaims",
    "VisitorToken",
    "act_as_user",
]

_MAX_HEADER_CHARS = 8 * 1024
"""Characters of a header: more than any issuer's token needs."""

_MIN_OPERATOR_KEY_CHARS = 32

MAX_TENANTS = 200
"""Tenants in the list of those that a sign-in may enter."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """Header values as they were received, empty when absent: `Authorization`, `Parlour-Tenant` and `Parlour-Agent`."""

    authorization: str
    tenant: str
    agent: str = ""

    @property
    def bearer(self) -> str:
        """The bearer token; Unauthenticated when there is none."""
        scheme, _, token = self.authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or len(token) > _MAX_HEADER_CHARS:
            raise Unauthenticated(reason="no_bearer")
        return token.strip()


@dataclass(frozen=True, slots=True)
class AuthenticatedCaller:
    """Somebody who may act, the tenant they act in, and what a visitor's token is confined to and may ask for.

    `scopes` are the parts of the API that a key opens; empty: all. `name` is what people call them, "" when unknown.
    """

    principal: Principal
    tenant: Tenant
    visitor: VisitorClaims | None = None
    limits: Limits = DEFAULT_LIMITS
    scopes: frozenset[str] = frozenset()
    name: str = ""


@dataclass(frozen=True, slots=True)
class TenantChoice:
    """The tenants that a sign-in may enter, by slug; has_more: there are more than MAX_TENANTS."""

    tenants: Sequence[TenantLabel]
    has_more: bool = False


class Authenticator:
    """Checks credentials. Secrets are read when a bearer of their kind comes. May be shared between threads."""

    def __init__(
        self,
        issuers: TrustedIssuers,
        token_secret: Callable[[], str],
        operator_secret: Callable[[], str],
        operators: Collection[Identity] = (),
        *,
        allows_operator_key: bool = True,
    ) -> None:
        """`operators` sign in by OIDC and run the deployment. With one of them the operator's key lets nobody in.

        allows_operator_key  whether it lets anybody in without them: one secret without a name or a second factor.
        """
        self.accepts_operator_key = allows_operator_key and not operators
        self._operators = frozenset(operators)
        self._issuers = issuers
        self._token_secret = token_secret
        self._operator_secret = operator_secret

    def authenticate(self, credentials: Credentials, database: Database, now: datetime) -> AuthenticatedCaller:
        """Who is calling, and in which tenant. A paused tenant's people sign in; look at the tenant's status.

        Raises Unauthenticated; InvalidRequest when a member or the operator names no tenant; Forbidden when the
        tenant is archived, except for the operator; NotFound when the operator names a tenant that is not there.
        """
        try:
            signed_in = self._authenticate_bearer(credentials, database, now)
        except Unauthenticated as refusal:
            log.warning("authentication_failed", reason=refusal.reason)
            log.count("SignInFailed")
            raise
        if signed_in.tenant.status == "archived" and signed_in.principal.kind != "operator":
            raise Forbidden("this tenant is closed; the operator of the deployment can open it again")
        return signed_in

    def find_operator(self, credentials: Credentials, now: datetime) -> str | None:
        """Return an operator's label, "" for the operator's key; None when the bearer does not run the deployment.

        A secret of fewer than 32 characters lets nobody in.
        """
        try:
            bearer = credentials.bearer
            if self._is_operator_key(bearer):
                return ""
            if not self._operators or signed_tokens.parse_header(bearer) is None:
                return None
            identity = self._issuers.verify(bearer, now)
        except Unauthenticated:
            return None
        return identity.subject if identity in self._operators else None

    def list_tenants(self, credentials: Credentials, database: Database, now: datetime) -> TenantChoice:
        """Return the tenants that the bearer may enter, before one is chosen; a key or a visitor has its own.

        Raises Unauthenticated; Forbidden and NotFound as `authenticate` for a key or a visitor.
        """
        if self.find_operator(credentials, now) is not None:
            with database.transaction(None) as tx:
                return _to_choice(store.list_all_tenants(tx, MAX_TENANTS + 1))
        header = signed_tokens.parse_header(credentials.bearer)
        if header is None or header.type == visitor_tokens.VISITOR_TOKEN_TYPE:
            tenant = self.authenticate(credentials, database, now).tenant
            return TenantChoice([TenantLabel(tenant.slug, tenant.display_name)])
        identity = self._issuers.verify(credentials.bearer, now)
        with database.transaction(None) as tx:
            return _to_choice(store.list_member_tenants(tx, identity.issuer, identity.subject, MAX_TENANTS + 1))

    def issue_visitor_token(self, claims: VisitorClaims, now: datetime) -> VisitorToken:
        """Return a visitor's token, valid as long as `visitor_tokens.issue_token` says."""
        return visitor_tokens.issue_token(claims, self._token_secret(), now)

    def _authenticate_bearer(self, credentials: Credentials, database: Database, now: datetime) -> AuthenticatedCaller:
        bearer = credentials.bearer
        if presented := api_keys.parse_key(bearer):
            with database.transaction(presented.tenant_id) as tx:
                row = store.find_key_credential(tx, presented.key_id, now)
                if row is None or row.secret_hash is None or not presented.matches(row.secret_hash):
                    raise Unauthenticated(reason="unknown_key")
                store.mark_key_used(tx, row.id, now)
            return _require_same_tenant(_to_caller("key", row), credentials.tenant)
        header = signed_tokens.parse_header(bearer)
        if header is None:
            if not self._is_operator_key(bearer):
                raise Unauthenticated(reason="unknown_bearer")
            return _operator_caller(database, credentials.tenant, "")
        if header.type == visitor_tokens.VISITOR_TOKEN_TYPE:
            whom = visitor_tokens.verify_token(bearer, self._token_secret(), now)
            return _authenticate_visitor(whom, credentials.tenant, database)
        return self._authenticate_member(bearer, credentials.tenant, database, now)

    def _authenticate_member(self, bearer: str, slug: str, database: Database, now: datetime) -> AuthenticatedCaller:
        identity = self._issuers.verify(bearer, now)
        if identity in self._operators:
            return _operator_caller(database, slug, identity.subject)
        route = _find_tenant_key(_require_tenant_slug(slug), database)
        if route is None:
            raise Unauthenticated(reason="unknown_tenant")
        with database.transaction(route.tenant_id) as tx:
            row = store.find_member_credential(tx, identity.issuer, identity.subject)
        if row is None:
            raise Unauthenticated(reason="not_a_member")
        return _to_caller("member", row)

    def _is_operator_key(self, bearer: str) -> bool:
        secret = self._operator_secret().strip()
        same = hmac.compare_digest(bearer.encode(errors="replace"), secret.encode())
        if same and not self.accepts_operator_key:
            log.warning("operator_key_refused")
        return same and len(secret) >= _MIN_OPERATOR_KEY_CHARS and self.accepts_operator_key


def act_as_user(member: AuthenticatedCaller, agent: str, database: Database, now: datetime) -> AuthenticatedCaller:
    """Return a member as the user that they talk as with an agent, by its binding's slug.

    What a visitor's token opens for all of a visitor's sessions with an agent, this opens for the member's own; the
    roles viewer and editor stay, for what their conversations show. Forbidden for anybody but a member; NotFound when
    there is no such agent or its door is closed to them.
    """
    principal = member.principal
    if principal.kind != "member":
        raise Forbidden("the header Parlour-Agent is for signed-in members; others open a session as a visitor")
    with database.transaction(principal.tenant_id) as tx:
        binding = bindings.find_binding_by_slug(tx, agent)
        acting = binding and store.find_acting_user(
            tx, users.find_or_create_member_user(principal, tx, now), binding.id
        )
    if not acting or not compute_access(acting.user, acting.binding).is_admitted:
        raise NotFound("no agent of that name answers you; GET /v1/bindings lists them")
    claims = VisitorClaims(principal.tenant_id, acting.user.id, acting.binding.id, None, acting.token_epoch, None, True)
    shown = frozenset(role for role in ("viewer", "editor") if principal.has_role(role))
    caller = _to_visitor(acting, claims)
    return replace(caller, principal=replace(caller.principal, roles=shown))


def _to_choice(found: Sequence[TenantLabel]) -> TenantChoice:
    return TenantChoice(found[:MAX_TENANTS], len(found) > MAX_TENANTS)


def _operator_caller(database: Database, slug: str, label: str) -> AuthenticatedCaller:
    tenant = tenants.find_tenant_by_slug(database, _require_tenant_slug(slug))
    if tenant is None:
        raise NotFound("tenant not found; apply a pack to create it")
    return AuthenticatedCaller(roles.operator_principal(tenant.tenant_id, label), tenant, name=label)


def _authenticate_visitor(claims: VisitorClaims, slug: str, database: Database) -> AuthenticatedCaller:
    """Return the visitor of a token. Forbidden when the door was closed to them since.

    Who became a member's user, by linking a phone that a member links as well, is refused: members sign in.
    """
    with database.transaction(claims.tenant_id) as tx:
        acting = store.find_acting_user(tx, claims.user_id, claims.binding_id)
    if acting is None:
        raise Unauthenticated(reason="visitor_gone")
    if acting.token_epoch != claims.epoch:
        raise Unauthenticated(reason="signed_out")
    if not _is_own_token(claims, acting):
        raise Unauthenticated(reason="members_sign_in")
    if acting.binding.is_active and not compute_access(acting.user, acting.binding).is_admitted:
        raise Forbidden("this agent is private; sign in as its owner")
    return _require_same_tenant(_to_visitor(acting, claims), slug)


def _is_own_token(claims: VisitorClaims, acting: ActingUser) -> bool:
    """Whether a member signed in for the token of a member's user."""
    return claims.is_member == (acting.user.member is not None)


def _to_visitor(acting: ActingUser, claims: VisitorClaims) -> AuthenticatedCaller:
    """Return a user who talks. A member's roles are not theirs here, although their turns have them."""
    access = compute_access(acting.user, acting.binding)
    principal = replace(access.principal, roles=frozenset())
    return AuthenticatedCaller(principal, acting.tenant, claims, access.limits, name=acting.user.display_name or "")


def _to_caller(kind: PrincipalKind, row: CredentialRow) -> AuthenticatedCaller:
    tenant = store.parse_tenant(row.tenant)
    principal = Principal(tenant.tenant_id, kind, row.id, frozenset(row.roles), row.clearance)
    return AuthenticatedCaller(principal, tenant, scopes=frozenset(row.scopes), name=row.name)


def _require_same_tenant(signed_in: AuthenticatedCaller, slug: str) -> AuthenticatedCaller:
    """Check that a header names the tenant that the bearer belongs to."""
    if slug and slug != signed_in.tenant.slug:
        raise Unauthenticated(reason="other_tenant")
    return signed_in


def _find_tenant_key(slug: str, database: Database) -> RoutingKey | None:
    if not tenants.is_slug(slug):
        return None
    with database.transaction(None) as tx:
        return routing_keys.find_routing_key(tx, routing_keys.tenant_key(slug))


def _require_tenant_slug(slug: str) -> str:
    if not slug:
        raise InvalidRequest("name the tenant in the header Parlour-Tenant")
    return slug
