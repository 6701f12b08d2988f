"""What operators and users see of turns: costs, times, tokens, transcripts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.rows import SessionReader, TranscriptRow, TurnRow
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.json_values import JsonObject
from parlour.infra.page_cursor import INVALID_CURSOR, Page, cut_page, decode_id_cursor
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records.citation_links import find_citation_links
from parlour.tenancy import roles, users
from parlour.text.citation_markers import number_for_reader, reader_number


def get_turn(principal: Principal, tx: Transaction, turn_id: UUID) -> TurnRow:
    """One turn, for a viewer of the tenant; NotFound when it has no such turn."""
    roles.require_role(principal, "viewer")
    rows = store.list_turn_rows(tx, turn_id=turn_id, clearance=principal.clearance, limit=1)
    if not rows:
        raise NotFound("turn not found")
    _show_replies(principal, tx, rows)
    return rows[0]


def list_turns(
    principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None, cursor: str = ""
) -> Page[TurnRow]:
    """Return a page of the turns of the tenant or of one session, newest first; InvalidRequest for a bad cursor."""
    roles.require_role(principal, "viewer")
    rows = store.list_turn_rows(
        tx,
        session_id=session_id,
        before=decode_id_cursor(cursor) if cursor else None,
        clearance=principal.clearance,
        limit=limit + 1,
    )
    _show_replies(principal, tx, rows)
    return cut_page(rows, limit, lambda turn: (turn.frozen_at, turn.id))


@dataclass(frozen=True, slots=True)
class TranscriptPage:
    """Some messages of a session, oldest first; next_cursor leads to those before them, "" when there are none."""

    messages: Sequence[TranscriptRow]
    next_cursor: str = ""


def read_transcript_page(
    principal: Principal, tx: Transaction, session_id: UUID, cursor: str = "", limit: int = 100
) -> TranscriptPage:
    """Return a page of a session's messages, the newest page first; InvalidRequest for a cursor that is none.

    A cursor is the id of the oldest message of the page before it: one that was erased meanwhile leads nowhere.
    """
    try:
        before_id = UUID(cursor) if cursor else None
    except ValueError:
        raise InvalidRequest(INVALID_CURSOR) from None
    rows = read_transcript(principal, tx, session_id, limit + 1, before_id)
    if before_id and not rows:
        raise InvalidRequest("cursor: no messages are before this one any more; load the conversation again")
    shown = rows[-limit:]
    return TranscriptPage(shown, str(shown[0].id) if len(rows) > limit else "")


def read_transcript(
    principal: Principal, tx: Transaction, session_id: UUID, limit: int, before_id: UUID | None = None
) -> list[TranscriptRow]:
    """Return the newest messages of a session, or those before one, oldest first; none of another user's to a user.

    Members to whom a conversation was opened read what was said, and no more of it.
    """
    is_open = (
        not principal.has_role("viewer")
        and principal.kind != "user"
        and users.can_read_session(principal, tx, session_id)
    )
    who = SessionReader(None, principal.clearance) if is_open else session_reader(principal)
    rows = store.list_transcript(tx, session_id, who, limit, before_id)[::-1]
    _link_citations(principal, tx, [citation for row in rows for citation in row.citations])
    return [
        replace(
            row,
            text=number_for_reader(row.text, row.cited_numbers),
            citations=_citations_for_reader(row.citations, row.cited_numbers),
        )
        for row in rows
    ]


def session_reader(principal: Principal) -> SessionReader:
    """Return which of the tenant's sessions the principal may read; Forbidden for neither a user nor a viewer."""
    if principal.kind == "user":
        return SessionReader(principal.id, principal.clearance, sees_reasoning=principal.has_role("viewer"))
    roles.require_role(principal, "viewer")
    return SessionReader(None, principal.clearance, sees_reasoning=True)


def _link_citations(principal: Principal, tx: Transaction, citations: Sequence[JsonObject]) -> None:
    """Give each citation the console's address of its source as `link`; null for who has no such page."""
    links = find_citation_links(principal, tx, {str(one["source"]) for one in citations if one["source"]})
    for citation in citations:
        citation["link"] = links.get(str(citation.pop("source")))


def _show_replies(principal: Principal, tx: Transaction, rows: Sequence[TurnRow]) -> None:
    """Give the replies of turns the reader's numbers, and what they cite its addresses."""
    replies = [row.reply for row in rows if row.reply]
    _link_citations(principal, tx, [citation for reply in replies for citation in _citations_of(reply)])
    for reply in replies:
        stored = reply.pop("cited_numbers")
        cited_numbers = [int(str(number)) for number in stored] if isinstance(stored, list) else []
        reply["text"] = number_for_reader(str(reply["text"]), cited_numbers)
        reply["citations"] = [*_citations_for_reader(_citations_of(reply), cited_numbers)]


def _citations_of(reply: JsonObject) -> list[JsonObject]:
    citations = reply["citations"]
    return [citation for citation in citations if isinstance(citation, dict)] if isinstance(citations, list) else []


def _citations_for_reader(citations: Sequence[JsonObject], cited_numbers: Sequence[int]) -> list[JsonObject]:
    """Return what a reply cites by the reader's numbers, in their order."""
    by_number = {reader_number(int(str(citation["number"])), cited_numbers): citation for citation in citations}
    return [{**by_number[number], "number": number} for number in sorted(by_number)]
