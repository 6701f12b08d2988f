"""Tenants: finding them, making them, opening and closing them."""

import re
from datetime import datetime

from parlour.infra.errors import Conflict, Forbidden, InvalidRequest, NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.postgres import Database, Transaction
from parlour.principal import Principal
from parlour.tenancy import audit, config_versions, routing_keys, store
from parlour.tenancy.labels import validate_label
from parlour.tenancy.roles import require_role
from parlour.tenancy.rows import Tenant, TenantStatus

__all__ = [
    "Tenant",
    "TenantStatus",
    "create_tenant",
    "find_own_tenant",
    "find_tenant_by_slug",
    "is_slug",
    "set_tenant_status",
    "update_tenant",
]

_SLUG = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")


def is_slug(text: str) -> bool:
    """Whether `text` may name a tenant: lower-case letters, digits and hyphens, 63 at most."""
    return _SLUG.fullmatch(text) is not None


def find_tenant_by_slug(database: Database, slug: str) -> Tenant | None:
    """Return the tenant of that slug, in two short transactions: one to find its id, one as that tenant."""
    if not is_slug(slug):
        return None
    with database.transaction(None) as tx:
        route = routing_keys.find_routing_key(tx, routing_keys.tenant_key(slug))
    if route is None:
        return None
    with database.transaction(route.tenant_id) as tx:
        return store.find_tenant(tx)


def find_own_tenant(tx: Transaction) -> Tenant | None:
    """Return the transaction's own tenant."""
    return store.find_tenant(tx)


def create_tenant(
    principal: Principal,
    tx: Transaction,
    *,
    slug: str,
    display_name: str,
    settings: JsonObject,
    now: datetime,
) -> Tenant:
    """Make the tenant that the operator acts in: `principal.tenant_id` is the new id, `tx` is opened as it.

    Raises Forbidden for anybody but the operator, InvalidRequest for a name that is none, Conflict when the id or
    the slug is taken.
    """
    if principal.kind != "operator":
        raise Forbidden("only the deployment's operator can create tenants; use the operator key")
    if not is_slug(slug):
        raise InvalidRequest("slug: use lower-case letters, digits and hyphens, 63 at most")
    label = validate_label("display_name", display_name)
    tenant = store.create_tenant(tx, slug=slug, display_name=label, settings=settings, now=now)
    if tenant is None:
        raise Conflict(f"tenant {principal.tenant_id} already exists; change it instead")
    routing_keys.claim_key(tx, routing_keys.tenant_key(slug), None)
    _record_change(principal, tx, tenant, "tenant.created", now)
    return tenant


def update_tenant(
    principal: Principal, tx: Transaction, *, display_name: str, settings: JsonObject, now: datetime
) -> bool:
    """Give the tenant this name and these settings; False, and nothing written, when it has them. Needs admin."""
    require_role(principal, "admin")
    label = validate_label("display_name", display_name)
    tenant = store.update_tenant(tx, display_name=label, settings=settings, now=now)
    if tenant is None:
        return False
    _record_change(principal, tx, tenant, "tenant.changed", now)
    return True


def set_tenant_status(principal: Principal, tx: Transaction, status: TenantStatus, now: datetime) -> Tenant:
    """Open or pause the tenant (role admin); archive it or bring it back (the operator). Audited.

    Raises Forbidden, NotFound when the transaction's tenant does not exist, InvalidRequest for no such status.
    """
    require_role(principal, "admin")
    if status not in {"active", "paused", "archived"}:
        raise InvalidRequest("status: use active, paused or archived")
    before = store.find_tenant(tx)
    if before is None:
        raise NotFound
    if "archived" in {before.status, status} and principal.kind != "operator":
        raise Forbidden("only the deployment's operator can archive or restore a tenant")
    after = store.set_tenant_status(tx, status, now) or before
    target, details = f"tenant:{after.tenant_id}", {"from": before.status}
    audit.add_entry(principal, tx, f"tenant.{status}", target, {**details}, now)
    return after


def _record_change(principal: Principal, tx: Transaction, tenant: Tenant, action: str, now: datetime) -> None:
    config: JsonObject = {"slug": tenant.slug, "display_name": tenant.display_name, "settings": tenant.settings}
    config_versions.record_version(principal, tx, "tenant", tenant.tenant_id, tenant.version, config, now)
    details: JsonObject = {"version": tenant.version}
    audit.add_entry(principal, tx, action, f"tenant:{tenant.tenant_id}", details, now)
