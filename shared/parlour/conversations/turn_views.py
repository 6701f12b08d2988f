"""What operators and users see of turns: costs, times, tokens, transcripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from parlour.conversations import store
from parlour.conversations.rows import SessionReader, TranscriptRow, TurnRow
from parlour.infra.errors import InvalidRequest, NotFound
from parlour.infra.json_values import Json, JsonObject
from parlour.infra.page_cursor import INVALID_CURSOR
from parlour.infra.postgres import Transaction
from parlour.principal import Principal
from parlour.records.citation_links import find_citation_links
from parlour.tenancy import roles, users


@dataclass(frozen=True, slots=True)
class TurnView:
    """A turn as an operator sees it: its row, with tokens and cost summed over its calls.

    tokens_by_layer  input tokens as budgeted, by layer, summed over the turn's model calls.
    cost_usd         a decimal as text; None when no call has a known price.
    """

    row: TurnRow
    tokens_by_layer: dict[str, int]
    cost_usd: str | None

    def to_json(self) -> JsonObject:
        """As the API returns it."""
        row = self.row
        return {
            "id": str(row.id),
            "session_id": str(row.session_id),
            "number": row.number,
            "state": row.state,
            "binding": row.binding,
            "channel": row.channel,
            "frozen_at": row.frozen_at.isoformat(),
            "finished_at": (row.finished_at.isoformat() if row.finished_at else None),
            "degraded": row.degraded,
            "attempt_count": row.attempt_count,
            "problem": row.problem,
            "stage_ms": dict(row.stage_ms),
            "input_messages": list(row.input_messages or []),
            "reply": row.reply,
            "model_calls": list(row.model_calls or []),
            "tool_calls": list(row.tool_calls or []),
            "delivery": row.delivery,
            "tokens_by_layer": dict(self.tokens_by_layer),
            "cost_usd": self.cost_usd,
        }


def get_turn(principal: Principal, tx: Transaction, turn_id: UUID) -> TurnView:
    """One turn, for a viewer of the tenant; NotFound when it has no such turn."""
    roles.require_role(principal, "viewer")
    rows = store.list_turn_rows(tx, turn_id=turn_id, session_id=None, clearance=principal.clearance, limit=1)
    if not rows:
        raise NotFound("turn not found")
    return _to_views(principal, tx, rows)[0]


def list_turns(principal: Principal, tx: Transaction, limit: int, session_id: UUID | None = None) -> list[TurnView]:
    """Return the newest turns of the tenant or of one session, newest first."""
    roles.require_role(principal, "viewer")
    rows = store.list_turn_rows(tx, turn_id=None, session_id=session_id, clearance=principal.clearance, limit=limit)
    return _to_views(principal, tx, rows)


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
    before_id = _parse_message_id(cursor) if cursor else None
    rows = read_transcript(principal, tx, session_id, limit + 1, before_id)
    if before_id and not rows:
        raise InvalidRequest("cursor: no messages are before this one any more; load the conversation again")
    shown = rows[-limit:]
    return TranscriptPage(shown, str(shown[0].id) if len(rows) > limit else "")


def _parse_message_id(cursor: str) -> UUID:
    try:
        return UUID(cursor)
    except ValueError:
        raise InvalidRequest(INVALID_CURSOR) from None


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
    return rows


def session_reader(principal: Principal) -> SessionReader:
    """Return which of the tenant's sessions the principal may read; Forbidden for neither a user nor a viewer."""
    if principal.kind == "user":
        return SessionReader(principal.id, principal.clearance)
    roles.require_role(principal, "viewer")
    return SessionReader(None, principal.clearance)


def _to_views(principal: Principal, tx: Transaction, rows: Sequence[TurnRow]) -> list[TurnView]:
    replies = [row.reply for row in rows if row.reply]
    _link_citations(principal, tx, [citation for reply in replies for citation in _objects(reply["citations"])])
    return [_to_view(row) for row in rows]


def _link_citations(principal: Principal, tx: Transaction, citations: Sequence[JsonObject]) -> None:
    """Give each citation the console's address of its source as `link`; null for who has no such page."""
    links = find_citation_links(principal, tx, {str(one["source"]) for one in citations if one["source"]})
    for citation in citations:
        citation["link"] = links.get(str(citation.pop("source")))


def _objects(value: Json) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _to_view(row: TurnRow) -> TurnView:
    calls = row.model_calls or []
    costs = [Decimal(str(call["cost_usd"])) for call in calls if call["cost_usd"] is not None]
    total: dict[str, int] = {}
    for call in calls:
        layers = call["tokens_by_layer"]
        for layer, tokens in layers.items() if isinstance(layers, dict) else ():
            total[layer] = total.get(layer, 0) + (tokens if isinstance(tokens, int) else 0)
    return TurnView(row, total, format(sum(costs, Decimal(0)), "f") if costs else None)
