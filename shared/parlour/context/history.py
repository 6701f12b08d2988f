"""Layer 4: what was said before, verbatim, as alternating messages; the newest that fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from parlour.context.segment import Layer, Segment, foreign, measure, text_block
from parlour.infra.jsonable import Json, JsonObject

KEPT_MESSAGES = 20
"""At most this many messages stay verbatim (design section 7, layer 4)."""


@dataclass(frozen=True, slots=True)
class Said:
    """One earlier message of the session."""

    role: Literal["user", "assistant"]
    text: str


def segment(said: Sequence[Said], cap: int) -> Segment:
    """The newest messages that fit `cap` tokens, whole, oldest first, beginning with the user's.

    Messages of one role in a row become one message: the API wants the roles to alternate.
    """
    messages = _alternating(said[-KEPT_MESSAGES:])
    sizes = [measure((message,)) for message in messages]
    first = 0
    while first < len(messages) and (sum(sizes[first:]) > cap or messages[first]["role"] == "assistant"):
        first += 1
    return Segment(Layer.HISTORY, "append_only", "messages", messages[first:], sum(sizes[first:]))


def _alternating(said: Sequence[Said]) -> tuple[JsonObject, ...]:
    messages: list[JsonObject] = []
    for role, group in groupby((one for one in said if one.text.strip()), key=lambda one: one.role):
        blocks: list[Json] = [text_block(foreign(one.text)) for one in group]
        messages.append({"role": role, "content": blocks})
    return tuple(messages)
