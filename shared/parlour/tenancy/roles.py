"""What a principal may do, and what they may give to others. Pure."""

from collections.abc import Collection
from uuid import UUID

from parlour.infra.errors import Forbidden, InvalidRequest
from parlour.principal import PUBLIC, RESTRICTED, Principal

ROLES = frozenset({"admin", "editor", "viewer"})
"""admin changes configuration and holds every other role; editor writes records, documents and files; viewer reads
what an operator sees."""


def operator_principal(tenant_id: UUID, label: str = "") -> Principal:
    """Whoever runs the deployment, acting inside one tenant; `label` is the subject by which they signed in."""
    return Principal(tenant_id, "operator", clearance=RESTRICTED, label=label)


def require_role(principal: Principal, role: str) -> None:
    """Raise Forbidden unless the principal holds `role`."""
    if not principal.has_role(role):
        raise Forbidden(f"this needs the role {role}; ask an administrator of the tenant for it")


def require_person(principal: Principal) -> None:
    """Raise Forbidden for an API key: what this makes would outlive the key or open more than it does."""
    if principal.kind == "key":
        raise Forbidden("an API key grants no access; sign in as an administrator, or use the operator's key")


def check_grant(principal: Principal, roles: Collection[str], clearance: int) -> None:
    """Whether `principal` may give these to somebody: an administrator, and never more clearance than their own.

    An API key gives nothing: its scopes and its end would not hold for what it makes.

    Raises Forbidden, or InvalidRequest when a role or the clearance does not exist.
    """
    require_role(principal, "admin")
    require_person(principal)
    unknown = sorted(set(roles) - ROLES)
    if unknown:
        raise InvalidRequest(f"roles: {', '.join(map(repr, unknown))} unknown; use {', '.join(sorted(ROLES))}")
    if not PUBLIC <= clearance <= RESTRICTED:
        raise InvalidRequest(f"clearance: use a number from {PUBLIC} (public) to {RESTRICTED} (restricted)")
    if clearance > principal.clearance:
        raise Forbidden(f"your own clearance is {principal.clearance}; nobody grants more than they have")
