"""Cache breakpoints stand where another step or turn is expected, and where the cache is read."""

import pytest

from parlour.prompts.assembly.breakpoints import choose_cache_breakpoints, min_cached_tokens
from parlour.prompts.assembly.segment import Block, Layer, Placement, Segment, Stability

MODEL = "anthropic/claude-sonnet-4-5"
WARM, COLD = (60.0, 60.0), (3_600.0, 3_600.0)
SINGLE, BUSY = (1,) * 5, (4,) * 5


def segment(layer: Layer, stability: Stability, placement: Placement, *tokens: int) -> Segment:
    return Segment(layer, stability, placement, tuple(Block(("x",), count) for count in tokens))


def prompt(*, history: int = 4, calls: int = 0, changed: bool = False, floating: bool = False) -> list[Segment]:
    """Blocks 1-2 are tools, 3 the tiers, 4-5 the briefing, 6 on the history, then words, tail, calls, reminder."""
    return [
        segment(Layer.TOOLS, "config", "tools", 700, 800),
        segment(Layer.TIERS, "config", "system", 800),
        segment(Layer.BRIEFING, "briefing", "system", 200, 1_000),
        segment(Layer.HISTORY, "append_only", "messages", *(50,) * history),
        segment(Layer.MESSAGE, "turn" if floating else "append_only", "opening", 30),
        segment(Layer.DELTAS, "turn", "tail", *((40,) if changed else ())),
        segment(Layer.HEARTBEAT, "turn", "tail", 60),
        segment(Layer.CALLS, "append_only", "messages", *(300,) * calls),
        segment(Layer.REMINDER, "turn", "last", 40),
    ]


def chosen(
    pauses: tuple[float, ...],
    steps: tuple[int, ...] = SINGLE,
    step: int = 1,
    cached: tuple[int, ...] = (),
    model: str = MODEL,
    **layout: bool | int,
) -> tuple[int, ...]:
    return choose_cache_breakpoints(prompt(**layout), pauses, steps, step, model, cached)  # type: ignore[arg-type]


def test_a_warm_session_is_marked_up_to_the_users_words() -> None:
    assert chosen(WARM) == (3, 5, 10)


def test_the_first_turn_of_a_session_is_marked_at_every_place() -> None:
    assert chosen((), (), history=0) == (3, 5, 6, 7)


@pytest.mark.parametrize(("steps", "is_marked"), [(SINGLE, False), ((2, 1, 1, 1, 1), True), ((2, *SINGLE), False)])
def test_the_tail_is_marked_where_one_of_the_last_five_turns_called_tools(
    steps: tuple[int, ...], is_marked: bool
) -> None:
    assert (11 in chosen(WARM, steps)) is is_marked


def test_results_are_not_marked_where_recent_turns_ended_after_one_round() -> None:
    cached = (3, 5, 10, 11)
    assert chosen(WARM, (2,) * 5, step=2, cached=cached, calls=2) == (3, 5, 10, 11)
    assert chosen(WARM, (3,) * 5, step=2, cached=cached, calls=2) == (3, 11, 13)


def test_replies_an_hour_apart_are_not_marked_unless_steps_follow() -> None:
    assert chosen(COLD) == ()
    assert chosen(COLD, BUSY) == (3, 5, 10, 11)


def test_a_session_counts_as_slow_after_two_long_pauses_in_a_row() -> None:
    assert chosen((3_600.0,)) == (3, 5, 10)
    assert chosen((60.0, 3_600.0)) == (3, 5, 10)
    assert chosen((3_600.0, 301.0)) == ()


def test_calls_are_marked_at_their_moving_end() -> None:
    assert chosen(COLD, BUSY, step=3, cached=(3, 10, 11, 13), calls=4) == (3, 11, 13, 15)


def test_what_is_cached_is_read_even_where_nothing_new_is_written() -> None:
    assert chosen(COLD, cached=(3, 5)) == (5,)


def test_more_than_twenty_blocks_after_the_last_breakpoint_it_is_set_again() -> None:
    """From the words at block 8 to those at block 46: the provider would not look back that far."""
    assert chosen(WARM, cached=(3, 5, 8), history=40) == (3, 5, 8, 46)
    assert chosen(WARM, cached=(3, 5, 30), history=40) == (3, 5, 46)


def test_never_more_than_four_with_the_one_that_reads_among_them() -> None:
    placed = chosen(COLD, BUSY, step=3, cached=(3, 5, 10, 11, 13), calls=40)
    assert placed == (3, 13, 51)


def test_of_a_briefing_that_was_overtaken_its_beginning_is_marked() -> None:
    assert chosen(WARM, changed=True) == (3, 4, 10)


def test_words_after_what_floats_are_no_place_for_the_next_turn() -> None:
    assert chosen(WARM, floating=True) == (3, 5, 9)


def test_a_prefix_below_the_models_minimum_is_not_marked() -> None:
    assert chosen(WARM, model="anthropic/claude-haiku-4-5") == ()
    assert chosen(WARM, model="anthropic/claude-haiku-3-5") == (3, 5, 10)


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("claude-sonnet-5-5", 512),
        ("claude-haiku-5-5", 512),
        ("claude-opus-5", 512),
        ("claude-sonnet-5", 1_024),
        ("claude-sonnet-4-5-20250929", 1_024),
        ("claude-opus-4-1-20250805", 1_024),
        ("claude-opus-4-20250514", 1_024),
        ("claude-opus-4-7", 2_048),
        ("claude-3-5-haiku-20241022", 2_048),
        ("eu.anthropic.claude-opus-4-6-v1:0", 4_096),
        ("claude-haiku-4-5-20251001", 4_096),
        ("somebody/else", 1_024),
    ],
)
def test_every_model_has_its_own_minimum(model: str, tokens: int) -> None:
    assert min_cached_tokens(model) == tokens
