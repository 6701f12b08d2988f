"""Rows of a conversation as a summary reads them. Pure."""

from datetime import datetime
from typing import cast
from uuid import UUID

from parlour.infra.jsonable import JsonObject
from parlour.memory.summary.stretch import Spoken, Turn
from parlour.memory.summary.telling import Kind, Telling


def turn(
    turn_id: UUID, number: int, messages: list[JsonObject], *, is_closed: bool, is_drawn: bool
) -> Turn:  # fmt: skip
    """A turn with what was said in it, without replies that may not be told any more."""
    spoken = [_spoken(one) for one in messages]
    told = tuple(one for one in spoken if one.text.strip() and not (one.ours and is_closed))
    return Turn(turn_id, number, told, len(spoken), is_closed, is_drawn)


def line(kind: str, value: str) -> Telling:
    """What must survive, as it is looked up."""
    return Telling(cast("Kind", kind), value, "")


def _spoken(one: JsonObject) -> Spoken:
    sent_at = datetime.fromisoformat(str(one["sent_at"]))
    return Spoken(UUID(str(one["id"])), str(one["body"]), bool(one["ours"]), sent_at)
