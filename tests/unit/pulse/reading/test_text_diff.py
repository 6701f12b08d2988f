"""Two texts of a Pulse, statement by statement."""

from hypothesis import given
from hypothesis import strategies as st

from parlour.pulse.pulse import Statement
from parlour.pulse.reading.text_diff import diff_statements


def said(*texts: str) -> list[Statement]:
    return [Statement(text, (1,)) for text in texts]


def test_what_is_said_otherwise_stands_beside_what_it_was() -> None:
    before = said("The crack at C4 is 0.45 mm wide.", "The permit is late.", "The crane comes on 7 April.")
    after = said("The crack at C4 is 0.60 mm wide.", "The permit is late.", "Change order 7 is agreed.")
    found = diff_statements(before, after)
    assert found.changed == (("The crack at C4 is 0.45 mm wide.", "The crack at C4 is 0.60 mm wide."),)
    assert (found.unchanged, found.added) == (("The permit is late.",), ("Change order 7 is agreed.",))
    assert found.removed == ("The crane comes on 7 April.",)


def test_an_order_and_sources_are_no_difference() -> None:
    before, after = said("One thing.", "Another."), [Statement("Another.", (2,)), Statement("One thing.", (3,))]
    found = diff_statements(before, after)
    assert (found.added, found.removed, found.changed) == ((), (), ())


_texts = st.lists(st.text("abc ", min_size=1, max_size=12), max_size=6)


@given(_texts, _texts)
def test_every_statement_is_accounted_for_once(before: list[str], after: list[str]) -> None:
    found = diff_statements(said(*before), said(*after))
    told_after = [*found.added, *found.unchanged, *(new for _, new in found.changed)]
    told_before = [*found.removed, *found.unchanged, *(old for old, _ in found.changed)]
    assert sorted(told_after) == sorted(set(after))
    assert sorted(told_before) == sorted(set(before))
