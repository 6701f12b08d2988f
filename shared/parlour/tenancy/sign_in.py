"""Who is calling: from the headers of a request to a principal of one tenant.

Four kinds of bearer, told apart by their form alone: an API key, a visitor's token, an issuer's token (a member),
and anything else, which can only be the operator's key. Whatever is wrong with any of them, the caller hears the
same sentence; the log has the reason.
"""

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from parlour.infra import log
from parlour.infra.errors import Forbidden, InvalidRequest, NotFound, Unauthenticated
from parlour.infra.postgres import Database
from parlour.principal import Kind, Principal
from parlour.tenancy import keys, roles, routes, store, tenants, tokens, visitor
from parlour.tenancy.oidc import Issuers
from parlour.tenancy.records import Admission, Route, Tenant
from parlour.tenancy.visitor import Token, Visitor

__all__ = ["Credentials", "SignIn", "SignedIn", "Token", "Visitor"]

_LONGEST = 8 * 1024
"""Characters of a header: more than any issuer's token needs."""

_SHORTEST_OPERATOR_KEY = 32


@dataclass(frozen=True, slots=True)
class Credentials:
    """Two header values as they were received, empty when absent: `Authorization` and `Parlour-Tenant`."""

    authorization: str
    tenant: str

    @property
    def bearer(self) -> str:
        """The bearer token; Unauthenticated when there is none."""
        scheme, _, token = self.authorization.strip().partition(" ")
        if scheme.lower() != "bearer" or not token.strip() or len(token) > _LONGEST:
            raise Unauthenticated(reason="no_bearer")
        return token.strip()


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody who may act, the tenant they act in, and what a visitor's token is confined to."""

    principal: Principal
    tenant: Tenant
    visitor: Visitor | None = None


class SignIn:
    """Checks credentials. Secrets are read when a bearer of their kind comes. May be shared between threads."""

    def __init__(self, issuers: Issuers, token_secret: Callable[[], str], operator_secret: Callable[[], str]) -> None:
        self._issuers = issuers
        self._token_secret = token_secret
        self._operator_secret = operator_secret

    def authenticate(self, credentials: Credentials, database: Database, now: datetime) -> SignedIn:
        """Who is calling, and in which tenant. A paused tenant's people sign in; look at the tenant's status.

        Raises Unauthenticated; InvalidRequest when a member or the operator names no tenant; Forbidden when the
        tenant is archived, except for the operator; NotFound when the operator names a tenant that is not there.
        """
        try:
            signed_in = self._recognise(credentials, database, now)
        except Unauthenticated as refusal:
            log.warning("sign_in_refused", reason=refusal.reason)
            raise
        if signed_in.tenant.status == "archived" and signed_in.principal.kind != "operator":
            raise Forbidden("this tenant is closed; the operator of the deployment can open it again")
        return signed_in

    def is_operator(self, credentials: Credentials) -> bool:
        """Whether the bearer is the operator's key; a secret of fewer than 32 characters lets nobody in."""
        try:
            return self._is_operator_key(credentials.bearer)
        except Unauthenticated:
            return False

    def issue(self, whom: Visitor, now: datetime) -> Token:
        """A visitor's token for 24 hours."""
        return visitor.issue(whom, self._token_secret(), now)

    def _recognise(self, credentials: Credentials, database: Database, now: datetime) -> SignedIn:
        bearer = credentials.bearer
        if presented := keys.presented(bearer):
            return _key(presented, credentials.tenant, database)
        header = tokens.header(bearer)
        if header is None:
            return self._operator(bearer, credentials.tenant, database)
        if header.type == visitor.TYPE:
            whom = visitor.read(bearer, self._token_secret(), now)
            return _visitor(whom, credentials.tenant, database)
        return self._member(bearer, credentials.tenant, database, now)

    def _member(self, bearer: str, slug: str, database: Database, now: datetime) -> SignedIn:
        identity = self._issuers.verify(bearer, now)
        route = _route(_named(slug), database)
        if route is None:
            raise Unauthenticated(reason="unknown_tenant")
        with database.transaction(route.tenant_id) as tx:
            row = store.admit_member(tx, identity.issuer, identity.subject)
        if row is None:
            raise Unauthenticated(reason="not_a_member")
        return _signed_in("member", row)

    def _operator(self, bearer: str, slug: str, database: Database) -> SignedIn:
        if not self._is_operator_key(bearer):
            raise Unauthenticated(reason="unknown_bearer")
        tenant = tenants.by_slug(database, _named(slug))
        if tenant is None:
            raise NotFound("there is no tenant of that name; apply a pack to make it")
        return SignedIn(roles.operator(tenant.tenant_id), tenant)

    def _is_operator_key(self, bearer: str) -> bool:
        secret = self._operator_secret().strip()
        same = hmac.compare_digest(bearer.encode(errors="replace"), secret.encode())
        return same and len(secret) >= _SHORTEST_OPERATOR_KEY


def _key(presented: keys.Presented, slug: str, database: Database) -> SignedIn:
    with database.transaction(presented.tenant_id) as tx:
        row = store.admit_key(tx, presented.key_id)
    if row is None or row.secret_hash is None or not presented.matches(row.secret_hash):
        raise Unauthenticated(reason="unknown_key")
    return _same_tenant(_signed_in("key", row), slug)


def _visitor(whom: Visitor, slug: str, database: Database) -> SignedIn:
    with database.transaction(whom.tenant_id) as tx:
        row = store.admit_visitor(tx, whom.user_id, whom.binding_id)
    if row is None:
        raise Unauthenticated(reason="visitor_gone")
    return _same_tenant(_signed_in("user", row, whom), slug)


def _signed_in(kind: Kind, row: Admission, whom: Visitor | None = None) -> SignedIn:
    tenant = store.tenant_of(row.tenant)
    principal = Principal(tenant.tenant_id, kind, row.id, frozenset(row.roles), row.clearance)
    return SignedIn(principal, tenant, whom)


def _same_tenant(signed_in: SignedIn, slug: str) -> SignedIn:
    """These bearers know their tenant; a header that names another is a mistake that must not go unnoticed."""
    if slug and slug != signed_in.tenant.slug:
        raise Unauthenticated(reason="other_tenant")
    return signed_in


def _route(slug: str, database: Database) -> Route | None:
    if not tenants.is_slug(slug):
        return None
    with database.transaction(None) as tx:
        return routes.resolve(tx, routes.tenant_key(slug))


def _named(slug: str) -> str:
    if not slug:
        raise InvalidRequest("name the tenant in the header Parlour-Tenant")
    return slug
