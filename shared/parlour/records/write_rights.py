"""Whether a principal may write a record: asked where records are written, through whatever door they came. Pure."""

from parlour.infra.errors import Forbidden
from parlour.principal import Principal

_NO_RIGHTS = "you may not create or change records here"


def require_creation_rights(principal: Principal) -> None:
    """Raise Forbidden unless the principal may create records."""
    if principal.write_rights == "none":
        raise Forbidden(_NO_RIGHTS)


def require_change_rights(principal: Principal, *creators: str) -> None:
    """Raise Forbidden unless the principal may change what one of `creators` has created.

    A link is changed from either end, so one end of one's own is enough.
    """
    require_creation_rights(principal)
    if not any(principal.can_change(creator) for creator in creators):
        raise Forbidden("you may change only what you created yourself")
