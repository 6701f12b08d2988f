"""What every prompt of a turn holds in any case: tools, tiers, the moment, the reminder, and the user's words. Pure."""

import json

from parlour.infra.json_values import canonical_json
from parlour.prompts.assembly import history, reminder, tail
from parlour.prompts.assembly.ledger_entries import LedgerEntry
from parlour.prompts.assembly.materials import PromptMaterials
from parlour.prompts.assembly.segment import (
    Block,
    Item,
    Layer,
    Segment,
    Source,
    SourceKind,
    escape_untrusted,
    join_pieces,
    json_block,
    text_block,
    wrap_in_tag,
)
from parlour.text.token_counter import TokenCounter


def config_segments(counter: TokenCounter, materials: PromptMaterials) -> tuple[Segment, Segment]:
    """Layers 0 and 1."""
    tools = tuple(json_block(counter, text) for _, text in _tool_definitions(materials))
    texts = [item.text for item in materials.tiers if item.text.strip()]
    tiers = (text_block(counter, *join_pieces(texts)),) if texts else ()
    return Segment(Layer.TOOLS, "config", "tools", tools), Segment(Layer.TIERS, "config", "system", tiers)


def metadata_segments(counter: TokenCounter, materials: PromptMaterials) -> tuple[Segment, Segment]:
    """Layers 9 and 10."""
    reminded = reminder.opening_reminders(materials.turn_number, materials.reminders)
    return (
        tail.tail_segment(counter, Layer.HEARTBEAT, [materials.turn_metadata]),
        tail.tail_segment(counter, Layer.REMINDER, reminded),
    )


def repeated_reminder_tokens(counter: TokenCounter, materials: PromptMaterials) -> int:
    """Return the most that the repeated reminder takes once tools have answered; 0 without tools."""
    said = (
        reminder.repeated_reminders(materials.turn_number, materials.reminders, has_searched=True)
        if materials.tools
        else ()
    )
    return tail.tail_segment(counter, Layer.REMINDER, said, "last").tokens


def floating_instructions_block(counter: TokenCounter, materials: PromptMaterials) -> tuple[Block, ...]:
    """Return the agent's instructions where they float before the user's message."""
    given = (
        wrap_in_tag("instructions", materials.floating_instructions) if materials.floating_instructions.strip() else ()
    )
    return (text_block(counter, *given, role="user"),) if given else ()


def user_blocks(counter: TokenCounter, materials: PromptMaterials) -> tuple[Block, ...]:
    """Return the user's words; a line in their place where the user sent nothing readable."""
    return history.user_message_blocks(counter, materials.user_messages, materials.attachments)


def required_entries(counter: TokenCounter, materials: PromptMaterials) -> list[LedgerEntry]:
    """Entries for all of it; what is required is always in."""
    offered = [Item(SourceKind.TOOLS, text, Source("tools", name)) for name, text in _tool_definitions(materials)]
    said = [Item(SourceKind.USER_MESSAGES, escape_untrusted(one.text), one.source) for one in materials.user_messages]
    reminders = reminder.opening_reminders(materials.turn_number, materials.reminders)
    rest = [
        Item(SourceKind.FLOATING_INSTRUCTIONS, materials.floating_instructions, Source("agents", "")),
        Item(SourceKind.HEARTBEAT, materials.turn_metadata, Source("turns", str(materials.turn_number))),
        *(Item(SourceKind.REMINDER, text, Source("agents", "")) for text in reminders),
    ]
    required = [*offered, *materials.tiers, *said, *rest]
    return [LedgerEntry(item, counter.count(item.text)) for item in required if item.text.strip()]


def _tool_definitions(materials: PromptMaterials) -> list[tuple[str, str]]:
    """Return the tools by name, each with its definition as canonical JSON."""
    return sorted(map(_parse_tool, materials.tools))


def _parse_tool(text: str) -> tuple[str, str]:
    """Return a tool's name and definition; records of earlier releases have its keys in another order."""
    tool = json.loads(text)
    return str(tool.get("name")), canonical_json(tool)
