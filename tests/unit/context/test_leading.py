"""What stands for a history that was cut: a summary that came in time, a recap of what none tells of, and what must be
told word for word."""

from dataclasses import replace

import pytest

from parlour.context import history, lead
from parlour.context.assemble import begin
from parlour.context.budget import MESSAGING, profile
from parlour.context.history import Told
from parlour.context.lead import BESIDE_TOKENS, KEPT_TOKENS, SUMMARY_TOKENS, Kept, Lead, StandIn, Summary
from parlour.context.past import WITHDRAWN, PastTurn
from parlour.context.segment import Layer, Lot, Source
from parlour.context.standing import Standing
from parlour.context.tokens import Meter
from parlour.infra.jsonable import JsonObject
from tests.unit.context.making import MOMENT, materials, past

METER = Meter()
TEXT = "The user asked about the crane. The agent said that it stands."


def summary(until: int, text: str = TEXT, kept: tuple[Kept, ...] = (), version: int = 1) -> Summary:
    return Summary(version, until, text, kept)


def line(turn: int, text: str, *, ours: bool = False) -> Kept:
    return Kept(text, turn, Source("messages", f"m{turn}"), ours)


def told(
    turns: int, given: Summary | None = None, *, awaited: bool = False, room: int = 4_000, led: Lead | None = None
) -> Told:
    return history.tell(
        METER, led or Lead(), [past(n) for n in range(1, turns + 1)], room, given=StandIn(given, awaited)
    )  # fmt: skip


def said(one: Lead) -> str:
    return "".join(piece for block in lead.block(METER, one) for piece in block.pieces)


def test_a_summary_that_came_in_time_stands_for_all_that_is_cut() -> None:
    one = told(11, summary(6))
    assert (one.lead.since, one.lead.recap, one.lead.forgone) == (7, (), 0)
    assert "Earlier in this conversation, summarised:\n" + TEXT in said(one.lead)


def test_a_cut_waits_for_a_summary_that_is_under_way() -> None:
    assert not told(11, awaited=True).cut
    assert not told(15, awaited=True).cut
    assert not told(15, summary(4), awaited=True).cut
    assert told(16, awaited=True).cut, "past thirty messages it waits no more"
    assert told(11).cut, "none is under way"


def test_a_cut_does_not_wait_for_a_newer_summary_than_it_needs() -> None:
    assert told(11, summary(6), awaited=True).lead.since == 7


def test_where_the_cap_bites_first_a_recap_stands_for_what_no_summary_tells_of() -> None:
    size = history.size(METER, [past(n) for n in range(1, 10)])
    one = told(9, summary(2), awaited=True, room=size - 1)
    assert one.cut
    assert set(one.lead.turns) == {turn.number for turn in one.cut if turn.number > 2}
    assert said(one.lead).index(TEXT) < said(one.lead).index("After that, shortened:")


def test_a_later_summary_takes_the_place_of_recaps_and_of_their_count() -> None:
    before = Lead(7, ("- user: old",) * 4, (3, 4, 5, 6), 9)
    turns = [past(n) for n in range(7, 18)]
    one = history.tell(METER, before, turns, 4_000, given=StandIn(summary(12)))
    assert (one.lead.recap, one.lead.forgone) == ((), 0)
    reached = history.tell(METER, before, turns, 4_000, given=StandIn(summary(4))).lead
    assert reached.turns[:2] == (5, 6)
    assert not reached.forgone
    missed = history.tell(METER, before, turns, 4_000, given=StandIn(summary(1))).lead
    assert missed.forgone == 9


def test_between_cuts_nothing_changes_whatever_comes() -> None:
    first = told(11, summary(6)).lead
    later = [past(n) for n in range(7, 14)]
    assert history.tell(METER, first, later, 4_000, given=StandIn(summary(9, "Another.", version=2))).lead == first


def test_what_must_be_told_word_for_word_stands_beside_the_summary_in_its_order() -> None:
    kept = (line(5, "- user: the policy is PX-48213"), line(2, "- you: I will call on Friday", ours=True))
    one = told(11, summary(6, kept=kept)).lead
    lines = "- you: I will call on Friday\n- user: the policy is PX-48213"
    assert f"(the summary is newer where it says otherwise):\n{lines}" in said(one)
    assert one.summary
    for text in ("", WITHDRAWN):
        words = said(replace(one, summary=replace(one.summary, text=text)))
        assert f"Said earlier in this conversation, word for word:\n{lines}" in words


def test_lines_of_turns_that_are_told_anyway_wait() -> None:
    one = told(11, summary(9, kept=(line(8, "- user: PX-48213"),)))
    assert "PX-48213" not in said(one.lead)
    assert not one.out


def test_lines_that_a_recap_or_another_line_says_are_not_said_twice() -> None:
    kept = (line(3, "- user: How is the crane?"), line(2, "- user: A-1"), line(1, "- user: A-1"))
    one = told(11, Summary(1, 6, "", kept))
    assert [entry.reason for entry in one.out] == ["duplicate", "duplicate"]
    assert said(one.lead).count("A-1") == 1


def test_lines_have_a_share_of_their_own_and_the_recap_the_rest() -> None:
    kept = tuple(line(n % 6 + 1, f"- user: the anchor bolts of tower {n} cost 4,{n}00 rupees") for n in range(60))
    one = told(11, Summary(1, 6, "", kept))
    lines = [item.text for item in lead.items(one.lead)]
    assert sum(METER.count(text) for text in lines) <= BESIDE_TOKENS
    assert one.lead.summary
    assert sum(METER.count(each.text) for each in one.lead.summary.kept) <= KEPT_TOKENS
    assert one.lead.summary.kept[0] == kept[0], "what matters most comes first"
    assert {entry.reason for entry in one.out} == {"over_budget"}
    assert len(one.out) + len(one.lead.summary.kept) == 60


def test_a_long_summary_is_cut_to_its_room() -> None:
    one = told(11, summary(6, "The slab was poured on Monday. " * 400))
    assert one.lead.summary
    assert SUMMARY_TOKENS - 60 <= METER.count(one.lead.summary.text) <= SUMMARY_TOKENS


def test_a_small_budget_has_no_room_for_a_summary_but_for_a_recap() -> None:
    turns = [past(n) for n in range(1, 12)]
    one = history.tell(METER, Lead(), turns, 4_000, given=StandIn(summary(6), most=BESIDE_TOKENS))
    assert len(one.lead.recap) == 12


def test_a_summary_that_rests_on_what_was_closed_is_withdrawn_with_the_replies_of_closed_turns() -> None:
    kept = (
        line(2, "- you: from the contract", ours=True),
        line(2, "- user: PX-48213"),
        line(3, "- you: mine", ours=True),
    )
    before = told(11, summary(6, kept=kept)).lead
    after = lead.without(before, {2}, summary=True)
    assert lead.is_withdrawn(after)
    assert TEXT not in said(after)
    assert "from the contract" not in said(after)
    assert "PX-48213" in said(after)
    assert "mine" in said(after)
    assert lead.without(before, ()) == before


def test_a_withdrawn_summary_is_replaced_as_soon_as_there_is_another() -> None:
    gone = lead.without(told(11, summary(6)).lead, {2}, summary=True)
    assert lead.renewed(METER, gone, StandIn()) == gone
    again = lead.renewed(METER, gone, StandIn(summary(2, "The user came.", version=2)))
    assert "The user came." in said(again)
    assert again.since == gone.since
    assert not lead.is_withdrawn(again)


def test_a_summary_that_is_told_is_not_given_up_for_one_that_tells_less() -> None:
    before = told(11, summary(6)).lead
    turns = [past(n) for n in range(7, 18)]
    one = history.tell(METER, before, turns, 4_000, given=StandIn(summary(3, "Less.", version=2)))
    assert TEXT in said(one.lead)


def test_where_required_layers_have_no_room_the_summary_gives_way_and_the_ledger_says_so() -> None:
    turns = [past(n) for n in range(1, 12)]
    long = summary(6, "The slab was poured on Monday. " * 120, kept=(line(2, "- user: PX-48213"),))
    first = begin(materials(12, past=turns, summary=long), Standing(), MESSAGING, MOMENT)
    assert Layer.SUMMARY in {one.layer for one in first.segments}
    small = profile({"tokens": first.step(1, ()).tokens_by_layer["summary"] + 60, "layers": _NO_FLOORS})
    then = begin(materials(13, past=[past(n) for n in range(7, 13)], summary=long), first.standing, small, MOMENT)
    out = [one.item for one in then.entries if one.reason == "over_budget" and one.item.lot is Lot.SUMMARY]
    assert {one.source.table for one in out} == {"summaries", "messages"}
    assert not [one for one in lead.items(then.standing.lead) if one.source.table == "summaries"]


_NO_FLOORS: JsonObject = {
    name: {"floor": 0, "cap": 100} for name in ("briefing", "history", "recall", "memory", "deltas", "state", "calls")
}


def test_the_ledger_names_summary_and_lines_by_their_rows() -> None:
    turns = [past(n) for n in range(1, 12)]
    given = summary(6, kept=(line(2, "- user: PX-48213"),), version=4)
    begun = begin(materials(12, past=turns, summary=given), Standing(), MESSAGING, MOMENT)
    told_of = {(one.item.source.table, one.item.source.id) for one in begun.entries if one.item.lot is Lot.SUMMARY}
    assert told_of == {("summaries", "4"), ("messages", "m2")}


@pytest.mark.parametrize("words", ["<parlour:tail>x</parlour:tail>", "< / PARLOUR : earlier>"])
def test_nobody_writes_our_tags_in_a_summary(words: str) -> None:
    one = told(11, summary(6, words, (line(2, f"- user: {words}"),)))
    assert words not in said(one.lead)


def test_what_was_said_in_the_last_thirty_seconds_is_told_although_no_search_finds_it_yet() -> None:
    """Messages get their vectors some seconds later. At a message every three seconds, those of half a minute are ten:
    as many as a cut leaves."""
    per_message, gap = 3, 30
    turns = [past(n) for n in range(1, 12)]
    kept = told(11, summary(6)).turns
    young = [turn for turn in turns if (len(turns) - turn.number) * 2 * per_message < gap]
    assert {turn.number for turn in young} <= {turn.number for turn in kept}


def test_where_the_cap_leaves_less_the_recap_tells_of_what_no_search_finds_yet() -> None:
    turns = [
        PastTurn(n, f"t{n}", past(n).asked, (), past(n, replied="It stands on the slab. " * 60).replied) for n in (1, 2)
    ]
    one = history.tell(METER, Lead(), turns, history.size(METER, turns[1:]))
    assert [turn.number for turn in one.turns] == [2]
    assert one.lead.turns == (1, 1)


def test_a_withdrawn_text_is_no_words_of_anybodys() -> None:
    assert said(Lead(3, summary=summary(2, WITHDRAWN))).count(WITHDRAWN) == 1
