"""The secrets that a tenant's pack names: where each is stored, and what uses it. Values are never read here."""

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.tenancy import store
from parlour.tenancy.roles import require_role
from parlour.tenancy.rows import TenantSecret


def list_secrets(principal: Principal, tx: Transaction) -> list[TenantSecret]:
    """Return the tenant's secrets by name. Needs viewer."""
    require_role(principal, "viewer")
    return store.list_secrets(tx)
