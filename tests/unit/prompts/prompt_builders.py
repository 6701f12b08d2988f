"""Candidates, turns and prompts for the tests of the assembly's parts."""

from dataclasses import replace

from parlour.infra.json_values import Json, JsonObject
from parlour.prompts.assembly.materials import AssemblyContext, PromptMaterials
from parlour.prompts.assembly.past_turn import Message, PastTurn
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.prompts.assembly.tool_rounds import ToolRound
from tests.conftest import NOW

TOOL = '{"name": "search_knowledge", "description": "Search.", "input_schema": {"type": "object"}}'
MOMENT = AssemblyContext(NOW, 1, "anthropic/claude-sonnet-4-5", {"agent": 1})
SENTENCE = "The slab was poured on Monday and inspected on Tuesday. "


def make_item(lot: SourceKind, text: str, score: float = 0.5, **more: object) -> Item:
    """A candidate that comes from a row of its own."""
    return replace(Item(lot, text, Source(str(lot), text[:40]), score=score), **more)  # type: ignore[arg-type]


def make_materials(turn: int = 1, **more: object) -> PromptMaterials:
    """An ordinary turn: one tool, a short persona, a few words."""
    tiers = [Item(SourceKind.HUMAN, "# Identity\nYou are Asha.", Source("humans", "h", 1))]
    made = PromptMaterials(turn, (TOOL,), tiers, "Time: now", [make_message(f"u{turn}", "Is the foundation safe?")])
    return replace(made, **more)  # type: ignore[arg-type]


def make_message(key: str, text: str) -> Message:
    """A message with a row of its own."""
    return Message(text, Source("messages", key))


def make_past_turn(
    number: int, asked: str = "How is the crane?", replied: str = "It stands.", **more: object
) -> PastTurn:
    """A turn that is over."""
    said = (make_message(f"u{number}", asked),), (), (make_message(f"a{number}", replied),)
    return replace(PastTurn(number, f"turn-{number}", *said), **more)  # type: ignore[arg-type]


def make_search_round(contents: str, documents: int = 1, number: int = 1) -> ToolRound:
    """A step that searched, and what was found."""
    found: list[Json] = [{"n": n, "title": f"Report {n}", "contents": contents} for n in range(1, documents + 1)]
    block: JsonObject = {
        "type": "tool_use",
        "id": f"call_{number}",
        "name": "search_knowledge",
        "input": {"query": "x"},
    }
    return ToolRound((block,), ((f"call_{number}", {"documents": found, "searched_for": "crane slab"}),))
