"""Layers 3 and 4: what was said before. Verbatim while it is short; then it is cut, and a recap stands for the rest.

History only grows at its end until it is cut: at more than 20 messages, or when it outgrows its room, or its pictures
theirs. A cut leaves the
newest 10 messages (fewer where they do not fit), so that the next ones find room and the prompt's bytes stay the same
for a while. What a cut takes away goes into the recap, line by line, and a long text that the talk is about stays.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from parlour.context import recap
from parlour.context.choose import words_in
from parlour.context.segment import (
    Block,
    Item,
    Layer,
    Lot,
    Role,
    Segment,
    Source,
    foreign,
    joined,
    tagged,
    whole,
    words,
)
from parlour.context.tokens import Meter
from parlour.infra.jsonable import JsonObject

MOST_MESSAGES, KEPT_MESSAGES = 20, 10
"""Past the first, history is cut to the second (design section 7, layer 4, and section 16)."""

_LEFT_TO_GROW = 0.6
"""The share of its room that a cut history may fill, so that it is not cut again by the next message."""

MOST_PICTURED = 12 * 1024 * 1024
"""Bytes of all pictures of a prompt, as `models/pictures.py` puts them in."""

RECAP_TOKENS = 500
"""A recap takes this much at most (design section 7, layer 3)."""

PASTED_TOKENS = 400
"""A message from this length on may be a pasted document."""

_ABOUT = 0.25
"""The share of the newest messages' telling words that a pasted text must hold for the talk to be about it."""

_TELLING_FROM = 6
"""Letters from which on a word tells what is talked about; the words that every talk has are shorter, figures aside."""

_YOU, _SENT, _A_FILE = "- you: ", "- user sent ", "a file"
_SILENT = "(nothing that can be read)"

WITHDRAWN = "(withdrawn: its source was closed)"
"""What stands for words whose source was deleted, or closed to their reader, since they were written."""

WITHHELD = "withheld"
"""The table that the source of an attachment names once it must not be told any more, not by its name either."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of an earlier turn; `source` names its row."""

    text: str
    source: Source


@dataclass(frozen=True, slots=True)
class PastTurn:
    """A turn that is over, as it enters history: what the user wrote and sent, what was called with one line for each
    result, and the reply. Empty where there was none.

    id        of its row.
    called    whole messages of the API (role and content), as `stubs.called` made them.
    attached  what was sent with it, as it was then; without text what was refused.
    withdrawn what of it is not told any more, since a source of it was closed: its id, or "id/number" for one source.
    """

    number: int
    id: str
    asked: tuple[Message, ...]
    called: tuple[JsonObject, ...] = ()
    replied: tuple[Message, ...] = ()
    attached: tuple[Item, ...] = ()
    withdrawn: tuple[str, ...] = ()

    @property
    def messages(self) -> int:
        """How many messages people would count."""
        return len(self.asked) + len(self.replied)


@dataclass(frozen=True, slots=True)
class Lead:
    """What stands before the history since its last cut: the recap, and a text that the talk is about.

    since     the number of the first turn that is still verbatim.
    turns     of which turn each line of the recap tells, by number.
    forgone   messages that the recap has no room for.
    """

    since: int = 0
    recap: tuple[str, ...] = ()
    turns: tuple[int, ...] = ()
    forgone: int = 0
    pasted: Item | None = None


@dataclass(frozen=True, slots=True)
class Told:
    """History as it is sent: what leads it, the turns that are verbatim, their blocks, and those that were just cut."""

    lead: Lead
    turns: tuple[PastTurn, ...] = ()
    blocks: tuple[Block, ...] = ()
    cut: tuple[PastTurn, ...] = ()

    @property
    def tokens(self) -> int:
        """What the turns that are verbatim take."""
        return sum(block.tokens for block in self.blocks)


def tell(
    meter: Meter, lead: Lead, turns: Sequence[PastTurn], room: int, now: Sequence[Message] = (),
    room_pictured: int = MOST_PICTURED,
) -> Told:  # fmt: skip
    """What of the turns since the lead is told verbatim in `room` tokens and `room_pictured` bytes of pictures, cutting
    where the rules say so; `now` is what the user says in this turn."""
    kept = tuple(turn for turn in turns if turn.number >= lead.since)
    whole = Told(lead, kept, _said(meter, kept))
    is_short = sum(turn.messages for turn in kept) <= MOST_MESSAGES
    if is_short and whole.tokens <= room and pictured(kept) <= room_pictured:
        return whole
    stays = _newest(meter, kept, room, room_pictured)
    cut = kept[: len(kept) - len(stays)]
    if not cut:
        return whole
    since = stays[0].number if stays else kept[-1].number + 1
    led = _led(meter, lead, since, cut, [*_texts(stays), *(one.text for one in now)])
    return Told(led, stays, _said(meter, stays), cut)


def segments(meter: Meter, told: Told) -> tuple[Segment, ...]:
    """Layers 3 and 4; the first only where something was cut."""
    history = Segment(Layer.HISTORY, "append_only", "messages", told.blocks)
    lead = _lead_block(meter, told.lead)
    return (Segment(Layer.SUMMARY, "until_cut", "messages", lead), history) if lead else (history,)


def size(meter: Meter, turns: Sequence[PastTurn]) -> int:
    """The tokens of turns as they are sent."""
    return sum(block.tokens for block in _said(meter, turns))


def pictured(turns: Sequence[PastTurn], *sent: Item) -> int:
    """The bytes of the pictures in these turns, and of those that are `sent` now."""
    items = (*sent, *(one for turn in turns for one in turn.attached))
    return sum(json.loads(one.text)["source"].get("bytes", 0) for one in items if one.is_json and one.text)


def lead_size(meter: Meter, lead: Lead) -> int:
    """The tokens of layer 3."""
    return sum(block.tokens for block in _lead_block(meter, lead))


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


def without(lead: Lead, closed: Collection[int]) -> Lead:
    """The lead without what was replied in the closed turns, and without the names of what was sent with them."""
    pairs = zip(lead.recap, lead.turns, strict=True)
    return replace(lead, recap=tuple(_without(line) if of in closed else line for line, of in pairs))


def _without(line: str) -> str:
    if line.startswith(_SENT):
        return _SENT + _A_FILE
    return _YOU + WITHDRAWN if line.startswith(_YOU) else line


def _said(meter: Meter, turns: Sequence[PastTurn]) -> tuple[Block, ...]:
    return tuple(block for turn in turns for block in _blocks(meter, turn))


def _newest(meter: Meter, turns: Sequence[PastTurn], room: int, room_pictured: int) -> tuple[PastTurn, ...]:
    """The newest turns that a cut leaves; the last one whatever it holds, as long as it fits at all."""
    kept = turns[-1:] if size(meter, turns[-1:]) <= room and pictured(turns[-1:]) <= room_pictured else ()
    for turn in reversed(turns[:-1] if kept else ()):
        longer = [turn, *kept]
        is_long = sum(one.messages for one in longer) > KEPT_MESSAGES
        is_shown = pictured(longer) > int(room_pictured * _LEFT_TO_GROW)
        if is_long or is_shown or size(meter, longer) > int(room * _LEFT_TO_GROW):
            break
        kept = longer
    return tuple(kept)


def _led(meter: Meter, lead: Lead, since: int, cut: Sequence[PastTurn], talk: Sequence[str]) -> Lead:
    anew = [(turn.number, foreign(line)) for turn in cut for line in _recapped(turn)]
    lines = [*lead.recap, *(line for _, line in anew)]
    kept, told = list(lines), [*lead.turns, *(number for number, _ in anew)]
    while kept and sum(meter.count(line) for line in joined(kept, "\n")) > RECAP_TOKENS:
        kept.pop(0)
    pasted = _pasted(meter, cut, talk) or _still(lead.pasted, talk)
    lost = len(lines) - len(kept)
    return Lead(since, tuple(kept), tuple(told[lost:]), lead.forgone + lost, pasted)


def _recapped(turn: PastTurn) -> list[str]:
    sent = [f"{_SENT}{' '.join(one.title.split()) or _A_FILE}" for one in turn.attached]
    asked = [f"- user: {recap.line(one.text)}" for one in turn.asked if one.text.strip()]
    return [*sent, *asked, *(f"{_YOU}{recap.line(one.text)}" for one in turn.replied if one.text.strip())]


def _pasted(meter: Meter, cut: Sequence[PastTurn], talk: Sequence[str]) -> Item | None:
    """The newest long text among what is cut that the talk is about."""
    for turn in reversed(cut):
        for message in reversed(turn.asked):
            if meter.count(message.text) >= PASTED_TOKENS and _is_about(talk, message.text):
                return Item(Lot.PASTED, message.text, message.source, title="a text that the talk is about")
    return None


def _still(pasted: Item | None, talk: Sequence[str]) -> Item | None:
    return pasted if pasted and _is_about(talk, pasted.text) else None


def _is_about(talk: Sequence[str], text: str) -> bool:
    """Whether what was said since has enough of the text's own words. A talk that said nothing telling is still about
    it."""
    spoken = {word for one in talk for word in _telling(one)}
    return not spoken or len(spoken & _telling(text)) / len(spoken) >= _ABOUT


def _telling(text: str) -> set[str]:
    return {
        word.lower()
        for word in words_in(text)
        if len(word) >= _TELLING_FROM or any(letter.isdigit() for letter in word)
    }


def _texts(turns: Sequence[PastTurn]) -> list[str]:
    return [one.text for turn in turns for one in (*turn.asked, *turn.replied)]


def _lead_block(meter: Meter, lead: Lead) -> tuple[Block, ...]:
    parts: list[str] = []
    if lead.recap:
        more = f"(and {lead.forgone} messages before that)\n" if lead.forgone else ""
        parts += ["Earlier in this conversation, shortened:\n" + more, *joined(lead.recap, "\n")]
    if lead.pasted:
        parts += ["\n\n"] if parts else []
        parts += ["The user gave this text, whole:\n", foreign(lead.pasted.text)]
    return (words(meter, *tagged("earlier", *parts), role="user"),) if parts else ()


def _blocks(meter: Meter, turn: PastTurn) -> tuple[Block, ...]:
    attached = [attachment(meter, one) for one in turn.attached]
    called = [block for message in turn.called for block in _message_blocks(meter, message)]
    replied = [words(meter, foreign(one.text), role="assistant") for one in turn.replied if one.text.strip()]
    return (*attached, *said(meter, turn.asked, turn.attached), *called, *replied)


def _message_blocks(meter: Meter, message: JsonObject) -> list[Block]:
    role: Role = "assistant" if message["role"] == "assistant" else "user"
    content = message["content"]
    return [whole(meter, one, role) for one in content if isinstance(one, dict)] if isinstance(content, list) else []
