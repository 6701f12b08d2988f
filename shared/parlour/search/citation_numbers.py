"""Session-stable numbers: once a session has seen a row as [3], it is [3] for the rest of the session."""

from collections.abc import Collection, Sequence
from uuid import UUID

from parlour.infra.errors import LeaseLost, NotFound
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.search import store
from parlour.search.results import SearchResult
from parlour.search.store import NumberedSource

__all__ = ["NumberedSource", "assign_numbers", "list_numbered_sources"]


def assign_numbers(
    tx: Transaction, session_id: UUID, rows: Sequence[SearchResult], fencing_token: int | None = None
) -> dict[UUID, int]:
    """Return the session's number for each row, by row id; new rows get the next ones, in the order given.

    The session's row is locked, so that two callers never assign one number twice. With `fencing_token`, LeaseLost when
    another worker has taken the session's lease since. NotFound without such a session.
    """
    if not rows:
        return {}
    numbered = store.assign_numbers(tx, session_id, rows)
    if not all(one.is_fresh for one in numbered):
        numbered = store.assign_numbers(tx, session_id, rows)  # the session is ours by now: this sees all there is
    if not numbered:
        raise NotFound("session not found")
    if fencing_token is not None and numbered[0].lease_token != fencing_token:
        raise LeaseLost
    return {one.row_id: one.number for one in numbered if one.row_id and one.number}


def list_numbered_sources(
    principal: Principal, tx: Transaction, session_id: UUID, numbers: Collection[int]
) -> list[NumberedSource]:
    """Return those of the numbers that the session has given out, in order; what citations are checked against.

    Without those of what the principal may not see: they may have been cleared for more then, or it may have been
    closed since.
    """
    return store.list_numbered_sources(tx, session_id, numbers, principal.clearance)
