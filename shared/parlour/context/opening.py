"""What every prompt of a turn holds in any case: tools, tiers, the moment, the reminder, and the user's words. Pure."""

from collections.abc import Sequence

from parlour.context import reminder, tail
from parlour.context.ledger import Entry
from parlour.context.materials import Materials
from parlour.context.segment import Block, Item, Layer, Lot, Segment, Source, foreign, joined, tagged, whole, words
from parlour.context.tokens import Meter
from parlour.infra.jsonable import canonical


def config(meter: Meter, materials: Materials) -> tuple[Segment, Segment]:
    """Layers 0 and 1."""
    tools = tuple(whole(meter, tool) for tool in materials.tools)
    tiers = words(meter, *joined([item.text for item in materials.tiers]))
    return Segment(Layer.TOOLS, "config", "tools", tools), Segment(Layer.TIERS, "config", "system", (tiers,))


def moment(meter: Meter, materials: Materials) -> tuple[Segment, Segment]:
    """Layers 9 and 10."""
    reminded = reminder.opening(materials.turn, materials.reminders)
    return (
        tail.segment(meter, Layer.HEARTBEAT, [materials.heartbeat]),
        tail.segment(meter, Layer.REMINDER, reminded),
    )


def repeated(meter: Meter, materials: Materials) -> int:
    """The most that the reminder takes when it is said again after tools have answered; nothing without tools."""
    said = reminder.repeated(materials.turn, materials.reminders, searched=True) if materials.tools else ()
    return tail.segment(meter, Layer.REMINDER, said, "last").tokens


def spoken(meter: Meter, materials: Materials) -> tuple[Block, ...]:
    """The user's words, after the agent's instructions where those float."""
    floating = (words(meter, *tagged("instructions", materials.floating), role="user"),) if materials.floating else ()
    said = tuple(words(meter, foreign(one.text), role="user") for one in materials.words if one.text.strip())
    return (*floating, *said)


def attachment(meter: Meter, item: Item) -> Block:
    """A file or an image that the user sent now, as the model reads it."""
    if item.text.startswith('{"source":'):
        return Block((item.text,), whole(meter, {"type": "image"}, "user").tokens, "user", is_json=True)
    return words(meter, *tagged("file", f"{foreign(item.title)}\n", foreign(item.text)), role="user")


def refused(meter: Meter, item: Item, tokens: int, room: int) -> Block:
    """What stands in the place of an attachment that is too large."""
    why = f"too large to read here: {tokens} tokens where {room} are free"
    return words(meter, f"[The user also sent {foreign(item.title)!r}, {why}. Say so.]", role="user")


def entries(meter: Meter, materials: Materials) -> list[Entry]:
    """Entries for all of it; what is required is always in."""
    tools = [Item(Lot.TOOLS, canonical(tool), Source("tools", str(tool.get("name")))) for tool in materials.tools]
    said = [Item(Lot.WORDS, foreign(one.text), one.source) for one in materials.words]
    rest = [
        Item(Lot.FLOATING, materials.floating, Source("agents", "")),
        Item(Lot.HEARTBEAT, materials.heartbeat, Source("turns", str(materials.turn))),
        *_reminders(materials),
    ]
    return [Entry(item, meter.count(item.text)) for item in [*tools, *materials.tiers, *said, *rest] if item.text]


def _reminders(materials: Materials) -> Sequence[Item]:
    texts = reminder.opening(materials.turn, materials.reminders)
    return [Item(Lot.REMINDER, text, Source("agents", "")) for text in texts]
