"""Whether a principal may write a record: asked where records are written, through whatever door they came. Pure."""

from parlour.infra.errors import Forbidden
from parlour.principal import Principal
from parlour.records.record import Record

_NO_RIGHTS = "you may not create or change records here"


def require_creation_rights(principal: Principal) -> None:
    """Raise Forbidden unless the principal may create records."""
    if principal.write_rights == "none":
        raise Forbidden(_NO_RIGHTS)


def require_change_rights(principal: Principal, *records: Record) -> None:
    """Raise Forbidden unless the principal may change one of the records.

    A link is changed from either end, so one end of one's own is enough. What a member has accepted is the tenant's.
    """
    require_creation_rights(principal)
    own = (record for record in records if record.unverified_by == principal.name)
    if principal.write_rights == "own" and not any(own):
        raise Forbidden("you may change only what you created yourself and nobody has accepted yet")
