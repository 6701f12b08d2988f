"""What of the last prompt is still good is told block by block, with who is to blame for the rest."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import takewhile

import pytest

from parlour.prompts.assembly import cache_hits
from parlour.prompts.assembly.briefing_cache import RefreshCause
from parlour.prompts.assembly.cache_hits import BlockFingerprint, CacheHit, CacheMiss
from parlour.prompts.assembly.segment import Layer, Placement, Segment, Stability, text_block
from parlour.text.token_counter import TokenCounter

METER = TokenCounter()
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def segment(layer: Layer, stability: Stability, placement: Placement, *texts: str) -> Segment:
    return Segment(layer, stability, placement, tuple(text_block(METER, text) for text in texts))


def prompt(
    *history: str, words_now: str = "And now?", briefing: str = "The crane stands.", calls: Sequence[str] = ()
) -> list[Segment]:
    return [
        segment(Layer.TOOLS, "config", "tools", "search"),
        segment(Layer.TIERS, "config", "system", "You are Asha."),
        segment(Layer.BRIEFING, "briefing", "system", briefing),
        segment(Layer.HISTORY, "append_only", "messages", *history),
        segment(Layer.MESSAGE, "append_only", "opening", words_now),
        segment(Layer.HEARTBEAT, "turn", "tail", "09:30"),
        segment(Layer.CALLS, "append_only", "messages", *calls),
        segment(Layer.REMINDER, "turn", "last", "Cite."),
    ]


def after_turn(prints: Sequence[BlockFingerprint]) -> tuple[BlockFingerprint, ...]:
    return tuple(takewhile(lambda one: one.is_in_next_turn, prints))


def compared(
    before: Sequence[BlockFingerprint],
    now: Sequence[BlockFingerprint],
    *causes: RefreshCause,
    minutes: float = 1,
    same_model: bool = True,
) -> CacheHit:
    at = AT + timedelta(minutes=minutes)
    return cache_hits.compare_prompts(
        before, now, last_asked_at=AT, at=at, is_same_model=same_model, refresh_causes=causes
    )


def lost(served: CacheHit) -> tuple[Layer, str, int]:
    assert isinstance(served.miss, CacheMiss)
    return served.miss.layer, served.miss.cause, served.miss.tokens


def test_a_further_step_reads_all_of_the_step_before() -> None:
    first, second = (
        cache_hits.fingerprint_blocks(prompt("Hello.")),
        cache_hits.fingerprint_blocks(prompt("Hello.", calls=["call", "result"])),
    )
    assert compared(first, second) == CacheHit(6)


def test_the_words_of_a_turn_are_the_same_bytes_in_the_next_ones_history() -> None:
    before = after_turn(
        cache_hits.fingerprint_blocks(prompt("Hello.", words_now="Is it safe?", calls=["call", "result"]))
    )
    now = cache_hits.fingerprint_blocks(prompt("Hello.", "Is it safe?", "call, told in a line", "Yes."))
    assert compared(before, now) == CacheHit(5)


def test_words_after_what_floats_do_not_stay() -> None:
    floating = prompt("Hello.")
    floating.insert(4, segment(Layer.MESSAGE, "turn", "opening", "Be brief."))
    assert len(after_turn(cache_hits.fingerprint_blocks(floating))) == 4


def test_a_repeated_reminder_is_no_loss() -> None:
    assert all(one.layer is not Layer.REMINDER for one in cache_hits.fingerprint_blocks(prompt()))


def test_the_first_layer_that_changed_is_named_with_all_that_is_lost_behind_it() -> None:
    before = cache_hits.fingerprint_blocks(prompt("Hello."))
    now = cache_hits.fingerprint_blocks(prompt("Hello.", briefing="The crane fell."))
    assert lost(compared(before, now, "deltas")) == (Layer.BRIEFING, "deltas", sum(one.tokens for one in before[2:]))


def test_a_cut_that_leaves_the_briefing_is_blamed_for_the_history() -> None:
    before = after_turn(cache_hits.fingerprint_blocks(prompt("Hello.", "Good day.", words_now="Is it safe?")))
    served = compared(before, cache_hits.fingerprint_blocks(prompt("Good day.", "Is it safe?", "Yes.")), "compaction")
    assert lost(served)[:2] == (Layer.HISTORY, "compaction")
    assert served.block_count == 3


def test_a_change_that_nobody_caused_is_our_own_mistake() -> None:
    tools = prompt()
    tools[0] = segment(Layer.TOOLS, "config", "tools", "other order")
    assert lost(compared(cache_hits.fingerprint_blocks(prompt()), cache_hits.fingerprint_blocks(tools)))[:2] == (
        Layer.TOOLS,
        "unnamed",
    )


def test_results_that_are_fitted_anew_are_refit() -> None:
    before = cache_hits.fingerprint_blocks(prompt(calls=["call", "long result"]))
    now = cache_hits.fingerprint_blocks(prompt(calls=["call", "short", "call", "result"]))
    assert lost(compared(before, now)) == (Layer.CALLS, "results_truncated", before[-1].tokens)


@pytest.mark.parametrize(
    ("minutes", "same_model", "cause"), [(6, True, "cold"), (1, False, "model"), (6, False, "model")]
)
def test_a_pause_or_another_model_loses_everything(minutes: float, same_model: bool, cause: str) -> None:
    before = cache_hits.fingerprint_blocks(prompt("Hello."))
    served = compared(before, before, minutes=minutes, same_model=same_model)
    assert lost(served) == (Layer.TOOLS, cause, sum(one.tokens for one in before))
    assert served.block_count == 0


def test_before_the_first_prompt_there_is_nothing_to_lose() -> None:
    assert cache_hits.compare_prompts(
        (),
        cache_hits.fingerprint_blocks(prompt()),
        last_asked_at=None,
        at=AT,
        is_same_model=True,
        refresh_causes=("first",),
    ) == CacheHit(0)
