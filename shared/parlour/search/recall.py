"""Recall of older messages: of the turn's own conversation, from before the turns that are told word for word, and of
the user's other conversations where the question points there."""

from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.search import store
from parlour.search.index.embedders import Vector
from parlour.search.recalled_messages import RecalledMessage

__all__ = ["RecalledMessage", "recall_messages"]

#: Messages of this conversation, and of others, at most; the budget decides which of them are told.
MAX_MESSAGES = 6

#: Candidates by vector, and as many by words, that are scored. The best six hold 26.3 percent of the messages that
#: answer a question with 40 of each, 27.9 with 100, 28.3 with 150 (102 questions, QMSum; bench.retrieval --memory).
MAX_CANDIDATES = 150

#: Other sessions that are searched, the ones used last.
_MAX_SESSIONS = 20


def recall_messages(
    principal: Principal,
    tx: Transaction,
    session_id: UUID,
    *,
    query: str,
    vector: Vector | None,
    before_turn: int,
    includes_other_sessions: bool = False,
) -> list[RecalledMessage]:
    """Return the best messages of turns before number `since` (0: none) and, with `others`, of the other sessions that
    the session's user has with the same binding; best first. Rows above the principal's clearance are left out.

    `vector` is the query's, in the tenant's space; without one words alone count.
    """
    return store.find_recalled_messages(
        tx,
        session_id,
        query,
        vector,
        clearance=principal.clearance,
        since=before_turn,
        others=includes_other_sessions,
        most=MAX_MESSAGES,
        pool=MAX_CANDIDATES,
        sessions=_MAX_SESSIONS,
    )
