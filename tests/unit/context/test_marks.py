"""Marks stand where they are likely to pay, where the cache is read, and nowhere else."""

import pytest

from parlour.context import marks
from parlour.context.marks import Pace
from parlour.context.segment import Block, Layer, Placement, Segment, Stability

MODEL = "anthropic/claude-sonnet-4-5"
WARM = Pace((60.0,) * 6, (1,) * 6)
COLD = Pace((3_600.0,) * 6, (1,) * 6)
BUSY = Pace((3_600.0,) * 6, (4,) * 6)


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
    pace: Pace, step: int = 1, cached: tuple[int, ...] = (), model: str = MODEL, **layout: object
) -> tuple[int, ...]:
    return marks.choose(prompt(**layout), pace, step, model, cached)  # type: ignore[arg-type]


def test_a_talk_that_goes_on_is_marked_up_to_the_users_words() -> None:
    assert chosen(WARM) == (3, 5, 10)


def test_a_further_step_is_worth_a_mark_after_the_tail() -> None:
    assert chosen(Pace((60.0,) * 6, (2,) * 6)) == (3, 5, 10, 11)


def test_replies_an_hour_apart_are_not_marked_unless_steps_follow() -> None:
    assert chosen(COLD) == ()
    assert chosen(BUSY) == (3, 5, 10, 11)
    assert chosen(Pace((3_600.0,) * 6, (2,) * 6), step=2, cached=(3, 5, 10, 11), calls=2) == (3, 5, 10, 11)


def test_the_first_turn_of_a_session_is_marked() -> None:
    assert chosen(Pace(), history=0) == (3, 5, 6, 7)


def test_calls_are_marked_at_their_moving_end_and_the_tail_stays_a_way_back() -> None:
    assert chosen(BUSY, step=3, cached=(3, 10, 11, 13), calls=4) == (3, 10, 11, 15)


def test_what_is_cached_is_read_even_where_nothing_new_is_worth_writing() -> None:
    assert chosen(COLD, cached=(3, 5)) == (3, 5)


def test_more_than_twenty_blocks_after_the_last_mark_it_is_set_again() -> None:
    """From the words at block 8 to those at block 46: the provider would not look back that far."""
    assert chosen(WARM, cached=(3, 5, 8), history=40) == (3, 5, 8, 46)
    assert chosen(WARM, cached=(3, 5, 30), history=40) == (3, 5, 46)


def test_never_more_than_four() -> None:
    placed = chosen(BUSY, step=3, cached=(3, 5, 10, 11, 13), calls=40)
    assert len(placed) == 4
    assert {3, 13, 51} <= set(placed)


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
        ("claude-sonnet-5-5", 512), ("claude-haiku-5-5", 512), ("claude-opus-5", 512), ("claude-sonnet-5", 1_024),
        ("claude-sonnet-4-5-20250929", 1_024), ("claude-opus-4-1-20250805", 1_024), ("claude-opus-4-20250514", 1_024),
        ("claude-opus-4-7", 2_048), ("claude-3-5-haiku-20241022", 2_048), ("eu.anthropic.claude-opus-4-6-v1:0", 4_096),
        ("claude-haiku-4-5-20251001", 4_096), ("somebody/else", 1_024),
    ],
)  # fmt: skip
def test_every_model_has_its_own_minimum(model: str, tokens: int) -> None:
    assert marks.minimum(model) == tokens


@pytest.mark.parametrize(("steps", "marked"), [((1,) * 6, False), ((1, 2, 1, 1, 2), True), ((2,) * 6, True)])
def test_the_tail_is_marked_where_tools_are_called_now_and_then(steps: tuple[int, ...], marked: bool) -> None:
    """In none, two fifths and all of the turns."""
    assert (11 in chosen(Pace((60.0,) * 5, steps))) is marked


def test_results_are_not_marked_where_turns_end_after_one_round() -> None:
    assert chosen(Pace((60.0,) * 5, (2,) * 5), step=2, cached=(3, 5, 10, 11), calls=2) == (3, 5, 10, 11)
    assert 13 in chosen(Pace((60.0,) * 5, (3,) * 5), step=2, cached=(3, 5, 10, 11), calls=2)


def test_one_long_pause_does_not_end_a_warm_session() -> None:
    warm = (30.0,) * 4
    assert chosen(Pace((*warm, 3_600.0), (1,) * 5)) == (3, 5, 10)
    assert chosen(Pace((*warm, *(3_600.0,) * 6), (1,) * 6)) == ()


def test_a_session_that_began_slowly_is_given_up_after_two_pauses() -> None:
    assert chosen(Pace((3_600.0,), (1,))) == (3, 5, 10)
    assert chosen(Pace((3_600.0, 3_600.0), (1, 1))) == ()
