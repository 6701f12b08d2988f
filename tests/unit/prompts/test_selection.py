"""The best items get in whole as long as they fit, and every other one has its reason."""

from hypothesis import given
from hypothesis import strategies as st

from parlour.prompts.assembly import selection
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.text.token_counter import TokenCounter
from tests.unit.prompts.prompt_builders import make_item

METER = TokenCounter()


def row(text: str, score: float = 0.5, **more: object) -> Item:
    return make_item(SourceKind.RECALL, text, score, **more)


def reasons(chosen: selection.Selection) -> dict[str, str | None]:
    return {one.item.text: one.reason for one in chosen.entries}


def test_the_highest_scores_come_first_and_smaller_ones_may_still_fit_after_them() -> None:
    best, large, small = row("crane " * 20, 0.9), row("slab " * 40, 0.8), row("bolt", 0.1)
    chosen = selection.select_best(METER, [small, large, best], METER.count(best.text) + 10, 500)
    assert chosen.items == (best, small)
    assert reasons(chosen)[large.text] == "over_budget"


def test_what_is_larger_than_its_layer_may_ever_be_is_too_large() -> None:
    assert reasons(selection.select_best(METER, [row("slab " * 400)], 50, 100))["slab " * 400] == "too_large"


def test_an_item_is_taken_in_fewer_words_where_the_whole_does_not_fit() -> None:
    linked = row("slab " * 40, shorter_texts=("slab " * 30, "slab"))
    (entry,) = selection.select_best(METER, [linked], 10, 500).entries
    assert (entry.item.text, entry.is_shortened, entry.reason) == ("slab", True, None)


def test_separators_are_paid_for() -> None:
    items = [row(f"bolt {n}") for n in range(9)]
    each = METER.count("bolt 1")
    assert len(selection.select_best(METER, items, 3 * each + 2, 500, separator_tokens=1).items) == 2


def test_covered_items_come_last_whatever_their_scores_and_keep_them() -> None:
    covered, other = row("the crane permit expired yesterday", 0.9), row("invoice of the surveyor", 0.2)
    last = selection.find_covered_by_pulse([covered, other], "Crane permit expired yesterday; renewal requested.")
    assert last == {covered}
    room = METER.count(other.text)
    chosen = selection.select_best(METER, [covered, other], room, 500, ranked_last=last)
    assert chosen.items == (other,)
    told = {
        one.item.text: (one.reason, one.item.score) for one in selection.mark_covered_by_pulse(chosen.entries, last)
    }
    assert told[covered.text] == ("covered_by_pulse", 0.9)


def test_nothing_is_covered_by_no_pulse() -> None:
    assert not selection.find_covered_by_pulse([row("the crane permit expired")], "")


def test_what_says_the_same_is_a_duplicate_in_any_script() -> None:
    hindi = "क्रेन की नींव का निरीक्षण सोमवार को हुआ और रिपोर्ट भेजी गई"
    first, again = row(hindi, 0.9), row(hindi + " 👍", 0.5)
    kept, twice = selection.deduplicate(METER, [again, first])
    assert kept == [first]
    assert [one.item for one in twice] == [again]


def test_what_is_said_word_for_word_is_not_recalled_besides_however_short() -> None:
    short = Item(SourceKind.RECALL, "👍", Source("messages", "m1"))
    kept, twice = selection.deduplicate(METER, [short], [], {Source("messages", "m1")})
    assert (kept, [one.reason for one in twice]) == ([], ["duplicate"])


def test_weak_items_help_nobody() -> None:
    weak = row("crane", selection.MIN_SCORE - 0.01)
    assert selection.filter_by_score(METER, [weak, row("slab")])[1][0].reason == "below_floor"


def test_what_the_reader_may_not_see_leaves_no_words() -> None:
    shown, hidden = selection.filter_by_clearance(
        [row("secret", classification=2, title="Salary"), row("known", classification=1)], clearance=1
    )
    assert [one.text for one in shown] == ["known"]
    assert (hidden[0].reason, hidden[0].item.text, hidden[0].item.title) == ("clearance", "", "")


@given(st.lists(st.tuples(st.text(max_size=60), st.floats(0, 1)), max_size=20), st.integers(0, 200))
def test_what_is_chosen_fits_and_every_item_is_accounted_for(given: list[tuple[str, float]], room: int) -> None:
    items = [Item(SourceKind.RECALL, text, Source("t", str(n)), score=score) for n, (text, score) in enumerate(given)]
    chosen = selection.select_best(METER, items, room, 1_000, separator_tokens=1)
    assert chosen.tokens <= room
    assert sum(METER.count(one.text) + 1 for one in chosen.items) == chosen.tokens
    assert sorted(one.item.source.id for one in chosen.entries) == sorted(one.source.id for one in items)
