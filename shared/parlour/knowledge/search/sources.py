"""Session-stable numbers: once a session has seen a row as [3], it is [3] for the rest of the session."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from parlour.infra.errors import LeaseLost, NotFound
from parlour.infra.postgres import Transaction
from parlour.knowledge.search import store
from parlour.knowledge.search.found import Found
from parlour.knowledge.search.recalled import Recalled
from parlour.knowledge.search.store import Source
from parlour.principal import Principal

__all__ = ["Source", "known", "number_rows", "take_numbers"]


def number_rows(tx: Transaction, session_id: UUID, rows: Sequence[Found], fence: int | None = None) -> dict[UUID, int]:
    """The session's number for each row, by row id; rows it has not seen get the next ones, in the order given.

    The session's row is held until the transaction ends, so that two callers never give out one number. With
    `fence`, LeaseLost when the session's lease has since been taken by somebody else. NotFound without such
    a session.
    """
    if not rows:
        return {}
    numbered = store.number_rows(tx, session_id, rows)
    if not all(one.is_fresh for one in numbered):
        numbered = store.number_rows(tx, session_id, rows)  # the session is ours by now: this sees all there is
    if not numbered:
        raise NotFound("there is no such session")
    if fence is not None and numbered[0].lease_token != fence:
        raise LeaseLost
    return {one.row_id: one.number for one in numbered if one.row_id and one.number}


def take_numbers(tx: Transaction, session_id: UUID, rows: Sequence[Recalled], numbers: Mapping[UUID, int]) -> bool:
    """Give the rows the numbers that were expected when they were recalled, by row id. False where the session has
    given out others since, or a row is gone: whoever asked gives up its transaction then. True again when it is
    repeated. It is for whoever holds the session's lease, which is not looked at."""
    if any(row.number is None for row in rows) and store.take_numbers(tx, session_id, rows, numbers):
        return True
    return number_rows(tx, session_id, rows) == numbers


def known(principal: Principal, tx: Transaction, session_id: UUID) -> list[Source]:
    """Every number that the session has given out, in order; what citations are checked against. Not those of what the
    principal may not see: they may have been cleared for more then, or it may have been closed since."""
    return store.known_sources(tx, session_id, principal.clearance)
