"""The session's turns that are over, as a prompt's history tells them."""

from uuid import UUID

from parlour.context.history import Message, PastTurn
from parlour.context.segment import Source
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.turns import polite
from parlour.turns.prompts import store
from parlour.turns.prompts.store import PastRow
from parlour.turns.records import Earlier

MOST_TURNS = 24
"""Turns that are read at most: a history of more than 20 messages is cut, whatever they hold."""


def past_turns(tx: Transaction, session_id: UUID, *, since: int, before: int) -> list[PastTurn]:
    """The turns with numbers from `since` up to below `before`, oldest first, at most the newest `MOST_TURNS`."""
    rows = store.past_turns(tx, session_id, since=since, before=before, most=MOST_TURNS)
    return [_turn(row) for row in reversed(rows)]


def _turn(row: PastRow) -> PastTurn:
    said = [(str(one["direction"]), _message(one)) for one in row.messages or []]
    return PastTurn(
        row.number, str(row.id),
        asked=tuple(one for direction, one in said if direction == "inbound" and one.text.strip()),
        called=tuple(row.called or ()),
        replied=tuple(one for direction, one in said if direction == "outbound" and one.text.strip()),
    )  # fmt: skip


def _message(row: JsonObject) -> Message:
    """A message as the model reads it: what nobody wrote is told apart from what the user wrote."""
    body, kind = str(row["body"]), str(row["kind"])
    source = Source("messages", str(row["id"]))
    if row["direction"] == "outbound":
        return Message(body, source)
    earlier = Earlier(kind, body)
    return Message(polite.as_read(earlier) if kind == polite.TOOL_RESULT else polite.own_words(body), source)
