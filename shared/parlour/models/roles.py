"""Who may look at spend and who may change it."""

from parlour.infra.errors import Forbidden
from parlour.principal import Principal


def require_role(principal: Principal, role: str) -> None:
    """Raise Forbidden unless the principal holds `role`."""
    if not principal.has_role(role):
        raise Forbidden(f"this needs the role {role}; ask an administrator of the tenant for it")
