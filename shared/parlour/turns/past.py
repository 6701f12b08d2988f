"""The session's turns that are over, as a prompt's history tells them. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from parlour.context.lead import Kept, Summary
from parlour.context.past import WITHDRAWN, Message, PastTurn
from parlour.context.segment import Source
from parlour.infra.jsonable import Json, JsonObject
from parlour.turns import attached, polite
from parlour.turns.records import Earlier

MOST_TURNS = 34
"""Turns that are read at most: a history of more than 30 messages is cut, whatever they hold."""


def past_turns(rows: Sequence[JsonObject], clearance: int) -> list[PastTurn]:
    """Turns from their rows: id, number, what was called, and the messages in order, for a reader of that clearance.

    A turn that `is_closed` (a reply of it cites, or a call of it names, what that reader may not see, or what is gone)
    is told without the words that may come from there: its calls are named alone, and its replies withdrawn. What the
    user wrote stays. A search whose sources are partly `dead`, closed or written anew, does not say what it found.
    """
    return [_turn(row, clearance) for row in rows]


def summary_of(row: JsonObject) -> Summary:
    """A summary from its row, with what is told word for word beside it."""
    lines = tuple(_line(one) for one in _objects(row["kept"]))
    return Summary(int(str(row["version"])), int(str(row["until"])), str(row["text"]), lines)


def _line(row: JsonObject) -> Kept:
    source = Source("messages", str(row["message_id"]))
    ours = bool(row["ours"])
    return Kept(f"- {'you' if ours else 'user'}: {row['text']}", int(str(row["turn"])), source, ours)


def _turn(row: JsonObject, clearance: int) -> PastTurn:
    messages = _objects(row["messages"])
    said = [(str(one["direction"]), _message(one)) for one in messages]
    turn = PastTurn(
        int(str(row["number"])), str(row["id"]),
        asked=tuple(one for direction, one in said if direction == "inbound" and one.text.strip()),
        called=tuple(_objects(row["called"])),
        replied=tuple(one for direction, one in said if direction == "outbound" and one.text.strip()),
        attached=attached.told([one for message in messages for one in _objects(message["attached"])], clearance),
    )  # fmt: skip
    dead = [int(str(one)) for one in _list(row["dead"])]
    return _closed(turn) if row["is_closed"] else _without(turn, dead) if dead else turn


def _closed(turn: PastTurn) -> PastTurn:
    """The turn without the words that may come from what was closed."""
    replied = tuple(replace(one, text=WITHDRAWN) for one in turn.replied)
    return replace(turn, called=_called(turn, _block_closed), replied=replied, withdrawn=(turn.id,))


def _called(turn: PastTurn, told: Callable[[JsonObject], JsonObject]) -> tuple[JsonObject, ...]:
    """What was called, each block as it is told now."""
    return tuple({**one, "content": [told(block) for block in _objects(one["content"])]} for one in turn.called)


def _block_closed(block: JsonObject) -> JsonObject:
    """A call without its arguments, or a result without its words."""
    return {**block, "input": {}} if block["type"] == "tool_use" else {**block, "content": WITHDRAWN}


def _without(turn: PastTurn, dead: Sequence[int]) -> PastTurn:
    """The turn without the lines that name sources by numbers which mean nothing any more."""
    called = _called(turn, lambda block: _block_without(block, dead))
    return replace(turn, called=called, withdrawn=tuple(f"{turn.id}/{number}" for number in dead))


def _block_without(block: JsonObject, dead: Sequence[int]) -> JsonObject:
    line = str(block.get("content"))
    return {**block, "content": WITHDRAWN} if any(f"[{number}] " in line for number in dead) else block


def _objects(value: Json) -> list[JsonObject]:
    return [one for one in _list(value) if isinstance(one, dict)]


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _message(row: JsonObject) -> Message:
    """A message as the model reads it: what nobody wrote is told apart from what the user wrote."""
    body, kind = str(row["body"]), str(row["kind"])
    source = Source("messages", str(row["id"]))
    if row["direction"] == "outbound":
        return Message(body, source)
    earlier = Earlier(kind, body, _objects(row["attached"]))
    return Message(polite.as_read(earlier), source)
