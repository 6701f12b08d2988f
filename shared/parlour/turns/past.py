"""The session's turns that are over, as a prompt's history tells them. Pure."""

from collections.abc import Sequence

from parlour.context.history import Message, PastTurn
from parlour.context.segment import Source
from parlour.infra.jsonable import Json, JsonObject
from parlour.turns import attached, polite
from parlour.turns.records import Earlier

MOST_TURNS = 24
"""Turns that are read at most: a history of more than 20 messages is cut, whatever they hold."""


def past_turns(rows: Sequence[JsonObject], clearance: int) -> list[PastTurn]:
    """Turns from their rows: id, number, what was called, and the messages in order, for a reader of that clearance."""
    return [_turn(row, clearance) for row in rows]


def _turn(row: JsonObject, clearance: int) -> PastTurn:
    messages = _objects(row["messages"])
    said = [(str(one["direction"]), _message(one)) for one in messages]
    return PastTurn(
        int(str(row["number"])), str(row["id"]),
        asked=tuple(one for direction, one in said if direction == "inbound" and one.text.strip()),
        called=tuple(_objects(row["called"])),
        replied=tuple(one for direction, one in said if direction == "outbound" and one.text.strip()),
        attached=attached.told([one for message in messages for one in _objects(message["attached"])], clearance),
    )  # fmt: skip


def _objects(value: Json) -> list[JsonObject]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _message(row: JsonObject) -> Message:
    """A message as the model reads it: what nobody wrote is told apart from what the user wrote."""
    body, kind = str(row["body"]), str(row["kind"])
    source = Source("messages", str(row["id"]))
    if row["direction"] == "outbound":
        return Message(body, source)
    earlier = Earlier(kind, body, _objects(row["attached"]))
    return Message(polite.as_read(earlier), source)
