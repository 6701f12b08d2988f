"""Older messages that a turn may lean on: of its own conversation, from before those that are told word for word, and
of the user's other ones where the question points there. One statement; what it reads of each row is small, so that
ten thousand messages cost a few milliseconds."""

from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.knowledge.index.embed import Vector
from parlour.knowledge.search import store
from parlour.knowledge.search.recalled import Recalled
from parlour.principal import Principal

__all__ = ["Recalled", "recall"]

MOST = 6
"""Messages of each kind at most; the budget decides which of them are told."""

_POOL = 100
"""Rows that are compared word for word and by their whole vectors; messages that are told anyway take no place among
them. Of the six that comparing every row gives, 87 percent are among these 100, 91 among 160 and 85 among 80 (199
questions to 10,000 messages of meetings; bench/recalled.py). Sixty more cost a millisecond."""

VERBATIM = 40
"""Turns that are told word for word, and some more: a history has at most 34 (turns/past.py)."""

_SESSIONS = 20
"""Other sessions that are looked through, the ones used last."""


def recall(
    principal: Principal, tx: Transaction, session_id: UUID, *, query: str, vector: Vector | None, since: int,
    others: bool = False,
) -> list[Recalled]:  # fmt: skip
    """The best few messages of turns before number `since` (0: none) and, with `others`, of the other sessions that the
    session's user has with the same binding; best first. What the principal is not cleared for is not there.

    `vector` is the query's, in the tenant's space; without one words alone count.
    """
    return store.recall(tx, session_id, query, vector, **_bounds(principal, since, others=others))


def _bounds(principal: Principal, since: int, *, others: bool) -> store.Bounds:
    return {
        "clearance": principal.clearance, "since": since, "others": others, "most": MOST, "pool": _POOL,
        "sessions": _SESSIONS, "verbatim": VERBATIM,
    }  # fmt: skip
