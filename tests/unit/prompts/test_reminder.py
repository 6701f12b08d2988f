"""What must not be missed stands at the end: every few turns, and last again once tools have answered."""

from parlour.prompts.assembly import reminder, tail
from parlour.prompts.assembly.segment import Layer
from parlour.text.token_counter import TokenCounter

METER = TokenCounter()


def test_the_rules_that_always_hold_come_back_every_five_turns() -> None:
    assert [turn for turn in range(1, 16) if reminder.STANDING_REMINDER in reminder.opening_reminders(turn, [])] == [
        5,
        10,
        15,
    ]


def test_what_the_pack_reminds_of_comes_every_turn() -> None:
    assert reminder.opening_reminders(3, ["Name no price."]) == ("Name no price.",)


def test_after_a_search_how_to_cite_comes_first_and_nothing_twice() -> None:
    said = reminder.repeated_reminders(5, ["Name no price."], has_searched=True)
    assert said == (reminder.CITATION_REMINDER, reminder.STANDING_REMINDER, "Name no price.")
    assert reminder.repeated_reminders(3, [], has_searched=False) == ()


def test_a_layer_without_words_has_no_block() -> None:
    assert tail.tail_segment(METER, Layer.RECALL, ["", "  "]).blocks == ()


def test_wrapping_costs_what_is_kept_for_it() -> None:
    one = tail.tail_segment(METER, Layer.RECALL, ["crane", "slab"])
    counted = (
        sum(map(METER.count, ("crane", "slab")))
        + tail.separator_tokens(METER)
        + tail.wrapping_tokens(METER, Layer.RECALL)
    )
    assert one.tokens == counted


def test_the_line_that_counts_fits_what_is_kept_for_it() -> None:
    for most in (1, 9, 10, 99, 100, 1_234):
        assert METER.count(tail.omission_line(most)) + tail.separator_tokens(METER) <= tail.omission_line_tokens(
            METER, most
        )
