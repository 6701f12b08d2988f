"""A prompt's tokens are accounted for by layer."""

from parlour.prompts.assembly.assembler import AssembledPrompt, prepare_turn
from parlour.prompts.assembly.budget import ENTITY_PROFILE
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.segment import SourceKind
from tests.unit.prompts.prompt_builders import (
    MOMENT,
    SENTENCE,
    make_item,
    make_materials,
    make_past_turn,
    make_search_round,
)


def assembled() -> AssembledPrompt:
    tail = [
        make_item(SourceKind.RECALL, "An older message.", 0.9),
        make_item(SourceKind.RECALL, "sealed", 0.8, classification=3),
        make_item(SourceKind.FACTS, SENTENCE * 90),
    ]
    given = make_materials(
        3,
        briefing_candidates=[make_item(SourceKind.RECORD, "Task T-1")],
        record_handle="task/T-1",
        past_turns=[make_past_turn(1), make_past_turn(2)],
        tail_candidates=tail,
    )
    return prepare_turn(given, PromptCacheState(), ENTITY_PROFILE, MOMENT).assemble_step(
        2, [make_search_round("a crack")]
    )


def test_layers_are_counted_in_their_order() -> None:
    layers = list(assembled().tokens_by_layer)
    assert layers == ["tools", "tiers", "briefing", "history", "recall", "heartbeat", "reminder", "message", "calls"]
