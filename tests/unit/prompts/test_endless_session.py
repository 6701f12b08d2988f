"""A session that never ends costs a turn what it cost at its hundredth message."""

import random
from dataclasses import replace

import pytest

from parlour.infra.json_values import canonical_json, to_json
from parlour.prompts.assembly import compaction
from parlour.prompts.assembly.assembler import AssembledPrompt, prepare_turn
from parlour.prompts.assembly.budget import MESSAGING_PROFILE
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.prompts.assembly.segment import Layer, Source, SourceKind
from tests.unit.prompts import generated_texts
from tests.unit.prompts.prompt_builders import MOMENT, make_item, make_materials, make_message
from tests.unit.prompts.simulated_summariser import SimulatedSummariser

_MOST = 1.2
"""How much more a prompt may be at message 10,000 than at message 100."""

_FROM, _UNTIL = 40, 100
"""The turns around message 100 that are measured, and as many at the end: a few cuts each, since a summary may be short
or long."""


@pytest.mark.parametrize(("way", "turns"), [("prompt", 5_000), ("never", 1_000), ("wordless", 1_000)])
def test_ten_thousand_messages_cost_what_a_hundred_do(way: str, turns: int) -> None:
    """Whether a model writes summaries, none does, or nothing but what must survive is kept: for these two thousand."""
    summed, standing, past = SimulatedSummariser(way), PromptCacheState(), list[PastTurn]()
    early: list[dict[str, int]] = []
    late: list[dict[str, int]] = []
    for number in range(1, turns + 1):
        is_measured = _FROM < number <= _UNTIL or number > turns - (_UNTIL - _FROM)
        asked = generated_texts.prose(random.Random(number % 50), 14)
        given = make_materials(
            number,
            past_turns=tuple(past),
            summary=summed.newest,
            is_summary_pending=summed.awaited,
            user_messages=[make_message(f"u{number}", asked)],
            tail_candidates=[make_item(SourceKind.RECALL, f"recalled {n} {asked}") for n in range(3)]
            if is_measured
            else (),
        )
        begun = prepare_turn(given, standing, MESSAGING_PROFILE, MOMENT)
        if is_measured:
            assembled = begun.assemble_step(1, ())
            (early if number <= _UNTIL else late).append(_sizes(assembled, begun.cache_state))
            standing = assembled.cache_state.after_turn(1)
        else:
            standing = begun.cache_state
        reply = make_message(f"a{number}", generated_texts.prose(random.Random(number % 37), 25))
        past.append(PastTurn(number, f"turn-{number}", tuple(given.user_messages), (), (reply,)))
        past = [one for one in past if one.number >= standing.compacted_history.since_turn]
        summed.after_turn(past, number, random.Random(number % 11))
    for what in early[0]:
        assert max(one[what] for one in late) <= _MOST * max(one[what] for one in early), what


def _sizes(assembled: AssembledPrompt, standing: PromptCacheState) -> dict[str, int]:
    """What grows if anything does: the prompt, what leads its history, its history, and what is kept for the next."""
    tokens = assembled.tokens_by_layer
    return {
        "prompt": sum(tokens.values()),
        "lead": tokens.get(Layer.SUMMARY.name.lower(), 0),
        "history": tokens["history"],
        "standing": len(canonical_json(to_json(replace(standing, cached_briefing=None)))),
        "entries": len(assembled.ledger.entries),
    }


def test_what_must_survive_is_bounded_however_much_there_is() -> None:
    kept = tuple(
        compaction.KeyDetailLine(f"- user: the code is A-{n}", n, Source("messages", str(n))) for n in range(5_000)
    )
    past = [
        PastTurn(n, f"t{n}", (make_message(f"u{n}", "x"),), (), (make_message(f"a{n}", "y"),))
        for n in range(5_001, 5_012)
    ]
    given = make_materials(5_012, past_turns=past, summary=compaction.Summary(700, 5_000, "So far.", kept[:40]))
    led = prepare_turn(
        given, PromptCacheState(compacted_history=compaction.CompactedHistory(5_001)), MESSAGING_PROFILE, MOMENT
    ).cache_state.compacted_history
    assert led.summary
    assert 10 <= len(led.summary.key_details) <= 40
