"""What must not be missed stands at the end: every few turns, and last again once tools have answered."""

from parlour.context import reminder, tail
from parlour.context.segment import Layer
from parlour.context.tokens import Meter

METER = Meter()


def test_the_rules_that_always_hold_come_back_every_five_turns() -> None:
    assert [turn for turn in range(1, 16) if reminder.ALWAYS in reminder.opening(turn, [])] == [5, 10, 15]


def test_what_the_pack_reminds_of_comes_every_turn() -> None:
    assert reminder.opening(3, ["Name no price."]) == ("Name no price.",)


def test_after_a_search_how_to_cite_comes_first_and_nothing_twice() -> None:
    said = reminder.repeated(5, ["Name no price."], searched=True)
    assert said == (reminder.CITING, reminder.ALWAYS, "Name no price.")
    assert reminder.repeated(3, [], searched=False) == ()


def test_a_layer_without_words_has_no_block() -> None:
    assert tail.segment(METER, Layer.RECALL, ["", "  "]).blocks == ()


def test_wrapping_costs_what_is_kept_for_it() -> None:
    one = tail.segment(METER, Layer.RECALL, ["crane", "slab"])
    counted = sum(map(METER.count, ("crane", "slab"))) + tail.between(METER) + tail.frame(METER, Layer.RECALL)
    assert one.tokens == counted


def test_the_line_that_counts_fits_what_is_kept_for_it() -> None:
    for most in (1, 9, 10, 99, 100, 1_234):
        assert METER.count(tail.more(most)) + tail.between(METER) <= tail.counted(METER, most)
