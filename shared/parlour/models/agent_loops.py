"""The agent loops of a tenant's pack that fail: their users get a canned reply, or another model's."""

from datetime import datetime, timedelta

from parlour.infra.postgres import Transaction
from parlour.models import store
from parlour.models.roles import require_role
from parlour.models.store import FailingLoop
from parlour.principal import Principal

__all__ = ["FailingLoop", "list_failing_loops"]

_LISTED_FOR = timedelta(days=1)
"""A loop that nobody has called for longer is no news."""


def list_failing_loops(principal: Principal, tx: Transaction, now: datetime, limit: int) -> list[FailingLoop]:
    """Return the loops whose last call within a day failed, the latest first. Needs viewer."""
    require_role(principal, "viewer")
    return store.list_failing_loops(tx, principal.clearance, now - _LISTED_FOR, limit)
