"""Layer 4: what was said before, verbatim while it is short; then it is cut, and its lead (`lead`) stands for the rest.

History only grows at its end until it is cut: at more than 20 messages, or when it outgrows its room, or its pictures
theirs. A cut leaves the newest 10 messages (fewer where they do not fit), so that the next ones find room and the
prompt's bytes stay the same for a while. Where a summary of what it takes away is under way, it waits for that as long
as there is room.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from parlour.context import lead as leading
from parlour.context.lead import Lead, StandIn
from parlour.context.ledger import Entry
from parlour.context.past import Message, PastTurn
from parlour.context.segment import Block, Item, Layer, Role, Segment, foreign, tagged, whole, words
from parlour.context.tokens import Meter
from parlour.infra.jsonable import JsonObject

MOST_MESSAGES, KEPT_MESSAGES = 20, 10
"""Past the first, history is cut to the second (design section 7, layer 4, and section 16)."""

MOST_AWAITING = 30
"""Past this many a cut waits for no summary any more."""

_LEFT_TO_GROW = 0.6
"""The share of its room that a cut history may fill, so that it is not cut again by the next message."""

MOST_PICTURED = 12 * 1024 * 1024
"""Bytes of all pictures of a prompt, as `models/pictures.py` puts them in."""

_SILENT = "(nothing that can be read)"

NO_STAND_IN = StandIn()

WITHHELD = "withheld"
"""The table that the source of an attachment names once it must not be told any more, not by its name either."""


@dataclass(frozen=True, slots=True)
class Told:
    """History as it is sent: what leads it, the turns that are verbatim, their blocks, and those that were just cut.

    out  what a cut's lead has no room for, or no need of.
    """

    lead: Lead
    turns: tuple[PastTurn, ...] = ()
    blocks: tuple[Block, ...] = ()
    cut: tuple[PastTurn, ...] = ()
    out: tuple[Entry, ...] = ()

    @property
    def tokens(self) -> int:
        """What the turns that are verbatim take."""
        return sum(block.tokens for block in self.blocks)


def tell(
    meter: Meter, lead: Lead, turns: Sequence[PastTurn], room: int, now: Sequence[Message] = (),
    room_pictured: int = MOST_PICTURED, given: StandIn = NO_STAND_IN,
) -> Told:  # fmt: skip
    """What of the turns since the lead is told verbatim in `room` tokens and `room_pictured` bytes of pictures, cutting
    where the rules say so; `now` is what the user says in this turn, `given` what may stand for what is cut."""
    kept = tuple(turn for turn in turns if turn.number >= lead.since)
    whole = Told(lead, kept, _said(meter, kept))
    fits = whole.tokens <= room and pictured(kept) <= room_pictured
    if fits and _count(kept) <= MOST_MESSAGES:
        return whole
    stays = _newest(meter, kept, room, room_pictured)
    cut = kept[: len(kept) - len(stays)]
    if not cut or (fits and not _is_due(kept, cut, given)):
        return whole
    since = stays[0].number if stays else kept[-1].number + 1
    led = leading.after_cut(meter, lead, since, cut, [*_texts(stays), *(one.text for one in now)], given)
    return Told(led.lead, stays, _said(meter, stays), cut, led.out)


def is_long(meter: Meter, turns: Sequence[PastTurn], room: int, given: StandIn) -> bool:
    """Whether so many messages are cut although they fit `room`."""
    stays = _newest(meter, turns, room, MOST_PICTURED)
    return _is_due(turns, turns[: len(turns) - len(stays)], given)


def _is_due(turns: Sequence[PastTurn], cut: Sequence[PastTurn], given: StandIn) -> bool:
    """Whether there are too many messages; while the summary of those that would be `cut` is awaited, more may be."""
    is_covered = given.summary is not None and (not cut or cut[-1].number <= given.summary.covers)
    waits = given.awaited and not is_covered
    return _count(turns) > (MOST_AWAITING if waits else MOST_MESSAGES)


def _count(turns: Sequence[PastTurn]) -> int:
    """How many messages people would count in these turns."""
    return sum(turn.messages for turn in turns)


def segments(meter: Meter, told: Told) -> tuple[Segment, ...]:
    """Layers 3 and 4; the first only where something was cut."""
    history = Segment(Layer.HISTORY, "append_only", "messages", told.blocks)
    lead = leading.block(meter, told.lead)
    return (Segment(Layer.SUMMARY, "until_cut", "messages", lead), history) if lead else (history,)


def size(meter: Meter, turns: Sequence[PastTurn]) -> int:
    """The tokens of turns as they are sent."""
    return sum(block.tokens for block in _said(meter, turns))


def pictured(turns: Sequence[PastTurn], *sent: Item) -> int:
    """The bytes of the pictures in these turns, and of those that are `sent` now."""
    items = (*sent, *(one for turn in turns for one in turn.attached))
    return sum(json.loads(one.text)["source"].get("bytes", 0) for one in items if one.is_json and one.text)


def said(meter: Meter, words_said: Sequence[Message], attached: Sequence[Item] = ()) -> tuple[Block, ...]:
    """What a user wrote, as blocks. A turn begins with its user, even one who sent nothing that can be read: the API
    wants it so."""
    blocks = tuple(words(meter, foreign(one.text), role="user") for one in words_said if one.text.strip())
    return blocks if blocks or attached else (words(meter, _SILENT, role="user"),)


def attachment(meter: Meter, item: Item) -> Block:
    """A file or an image that the user sent, as the model reads it; one without words is a name alone."""
    if not item.text:
        return refused(meter, item)
    if item.is_json:
        return Block((item.text,), whole(meter, {"type": "image"}, "user").tokens, "user", is_json=True)
    return words(meter, *tagged("file", foreign(item.title), "\n", foreign(item.text)), role="user")


def refused(meter: Meter, item: Item) -> Block:
    """What stands in the place of an attachment that is not told, now and later: its shorter form, where it has one;
    else that it is too large."""
    return words(meter, _refusal(item), role="user")


def recorded(item: Item) -> Item:
    """An attachment by the very pieces that may stand for it, so that a record can withhold them with its source."""
    text = item.text if item.is_json else foreign(item.text)
    return replace(item, text=text, title=foreign(item.title), shorter=(_refusal(item),))


def _refusal(item: Item) -> str:
    return foreign(item.shorter[0] if item.shorter else f"[The user also sent {item.title!r}, too large to read here.]")


def withheld(turns: Sequence[PastTurn]) -> set[str]:
    """What of these turns, or of what was sent with them, is not told any more: its reader may not see it now."""
    sent = {one.source.id for turn in turns for one in turn.attached if one.source.table == WITHHELD}
    return sent.union(*(turn.withdrawn for turn in turns))


def is_told_otherwise(turns: Sequence[PastTurn], before: Collection[str]) -> bool:
    """Whether anything of these turns was closed or opened since `before` was what was withheld of history."""
    known = {turn.id for turn in turns}.union(one.source.id for turn in turns for one in turn.attached)
    return any(one.partition("/")[0] in known for one in withheld(turns).symmetric_difference(before))


def _said(meter: Meter, turns: Sequence[PastTurn]) -> tuple[Block, ...]:
    return tuple(block for turn in turns for block in _blocks(meter, turn))


def _newest(meter: Meter, turns: Sequence[PastTurn], room: int, room_pictured: int) -> tuple[PastTurn, ...]:
    """The newest turns that a cut leaves; the last one whatever it holds, as long as it fits at all."""
    kept = turns[-1:] if size(meter, turns[-1:]) <= room and pictured(turns[-1:]) <= room_pictured else ()
    for turn in reversed(turns[:-1] if kept else ()):
        longer = [turn, *kept]
        is_many = _count(longer) > KEPT_MESSAGES
        is_shown = pictured(longer) > int(room_pictured * _LEFT_TO_GROW)
        if is_many or is_shown or size(meter, longer) > int(room * _LEFT_TO_GROW):
            break
        kept = longer
    return tuple(kept)


def _texts(turns: Sequence[PastTurn]) -> list[str]:
    return [one.text for turn in turns for one in (*turn.asked, *turn.replied)]


def _blocks(meter: Meter, turn: PastTurn) -> tuple[Block, ...]:
    attached = [attachment(meter, one) for one in turn.attached]
    called = [block for message in turn.called for block in _message_blocks(meter, message)]
    replied = [words(meter, foreign(one.text), role="assistant") for one in turn.replied if one.text.strip()]
    return (*attached, *said(meter, turn.asked, turn.attached), *called, *replied)


def _message_blocks(meter: Meter, message: JsonObject) -> list[Block]:
    role: Role = "assistant" if message["role"] == "assistant" else "user"
    content = message["content"]
    return [whole(meter, one, role) for one in content if isinstance(one, dict)] if isinstance(content, list) else []
