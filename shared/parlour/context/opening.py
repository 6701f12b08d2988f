"""What every prompt of a turn holds in any case: tools, tiers, the moment, the reminder, and the user's words. Pure."""

import json
from collections.abc import Sequence

from parlour.context import history, reminder, tail
from parlour.context.ledger import Entry
from parlour.context.materials import Materials
from parlour.context.segment import Block, Item, Layer, Lot, Segment, Source, foreign, joined, tagged, words, written
from parlour.context.tokens import Meter
from parlour.infra.jsonable import canonical


def config(meter: Meter, materials: Materials) -> tuple[Segment, Segment]:
    """Layers 0 and 1."""
    tools = tuple(written(meter, text) for _, text in _offered(materials))
    texts = [item.text for item in materials.tiers if item.text.strip()]
    tiers = (words(meter, *joined(texts)),) if texts else ()
    return Segment(Layer.TOOLS, "config", "tools", tools), Segment(Layer.TIERS, "config", "system", tiers)


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


def floating(meter: Meter, materials: Materials) -> tuple[Block, ...]:
    """The agent's instructions where those float before what the user sends."""
    given = tagged("instructions", materials.floating) if materials.floating.strip() else ()
    return (words(meter, *given, role="user"),) if given else ()


def spoken(meter: Meter, materials: Materials) -> tuple[Block, ...]:
    """The user's words; a line in their place where the user sent nothing at all that can be read."""
    return history.said(meter, materials.words, materials.attachments)


def entries(meter: Meter, materials: Materials) -> list[Entry]:
    """Entries for all of it; what is required is always in."""
    offered = [Item(Lot.TOOLS, text, Source("tools", name)) for name, text in _offered(materials)]
    said = [Item(Lot.WORDS, foreign(one.text), one.source) for one in materials.words]
    rest = [
        Item(Lot.FLOATING, materials.floating, Source("agents", "")),
        Item(Lot.HEARTBEAT, materials.heartbeat, Source("turns", str(materials.turn))),
        *_reminders(materials),
    ]
    required = [*offered, *materials.tiers, *said, *rest]
    return [Entry(item, meter.count(item.text)) for item in required if item.text.strip()]


def _offered(materials: Materials) -> list[tuple[str, str]]:
    """The tools by name, each with its definition as canonical JSON."""
    return sorted(map(_defined, materials.tools))


def _defined(text: str) -> tuple[str, str]:
    """A tool's name and its definition, whose keys come in another order from a record of an earlier release."""
    tool = json.loads(text)
    return str(tool.get("name")), canonical(tool)


def _reminders(materials: Materials) -> Sequence[Item]:
    texts = reminder.opening(materials.turn, materials.reminders)
    return [Item(Lot.REMINDER, text, Source("agents", "")) for text in texts]
