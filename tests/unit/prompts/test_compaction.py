"""What stands for a history that was cut: a summary that came in time, a recap of what none tells of, and what must be
told word for word."""

from dataclasses import replace

import pytest

from parlour.infra.json_values import JsonObject
from parlour.prompts.assembly import compaction, history
from parlour.prompts.assembly.assembler import prepare_turn
from parlour.prompts.assembly.budget import MESSAGING_PROFILE, resolve_profile
from parlour.prompts.assembly.cache_state import PromptCacheState
from parlour.prompts.assembly.compaction import (
    MAX_BESIDE_SUMMARY_TOKENS,
    MAX_KEY_DETAIL_TOKENS,
    MAX_SUMMARY_TOKENS,
    CompactedHistory,
    CompactionInput,
    KeyDetailLine,
    Summary,
)
from parlour.prompts.assembly.history import HistorySelection
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT, PastTurn
from parlour.prompts.assembly.segment import Layer, Source, SourceKind
from parlour.text.token_counter import TokenCounter
from tests.unit.prompts.prompt_builders import MOMENT, make_materials, make_past_turn

METER = TokenCounter()
TEXT = "The user asked about the crane. The agent said that it stands."


def summary(until: int, text: str = TEXT, kept: tuple[KeyDetailLine, ...] = (), version: int = 1) -> Summary:
    return Summary(version, until, text, kept)


def line(turn: int, text: str, *, ours: bool = False) -> KeyDetailLine:
    return KeyDetailLine(text, turn, Source("messages", f"m{turn}"), ours)


def told(
    turns: int,
    given: Summary | None = None,
    *,
    awaited: bool = False,
    room: int = 4_000,
    led: CompactedHistory | None = None,
) -> HistorySelection:
    return history.select_history(
        METER,
        led or CompactedHistory(),
        [make_past_turn(n) for n in range(1, turns + 1)],
        room,
        compaction_input=CompactionInput(given, awaited),
    )


def said(one: CompactedHistory) -> str:
    return "".join(piece for block in compaction.compacted_block(METER, one) for piece in block.pieces)


def test_a_summary_that_came_in_time_stands_for_all_that_is_cut() -> None:
    one = told(11, summary(6))
    assert (one.compacted_history.since_turn, one.compacted_history.recap, one.compacted_history.omitted_count) == (
        7,
        (),
        0,
    )
    assert "Earlier in this conversation, summarised:\n" + TEXT in said(one.compacted_history)


def test_a_cut_waits_for_a_summary_that_is_under_way() -> None:
    assert not told(11, awaited=True).cut_turns
    assert not told(15, awaited=True).cut_turns
    assert not told(15, summary(4), awaited=True).cut_turns
    assert told(16, awaited=True).cut_turns, "past thirty messages it waits no more"
    assert told(11).cut_turns, "none is under way"


def test_a_cut_does_not_wait_for_a_newer_summary_than_it_needs() -> None:
    assert told(11, summary(6), awaited=True).compacted_history.since_turn == 7


def test_where_the_cap_bites_first_a_recap_stands_for_what_no_summary_tells_of() -> None:
    size = history.history_tokens(METER, [make_past_turn(n) for n in range(1, 10)])
    one = told(9, summary(2), awaited=True, room=size - 1)
    assert one.cut_turns
    assert set(one.compacted_history.recap_turns) == {turn.number for turn in one.cut_turns if turn.number > 2}
    assert said(one.compacted_history).index(TEXT) < said(one.compacted_history).index("After that, shortened:")


def test_a_later_summary_takes_the_place_of_recaps_and_of_their_count() -> None:
    before = CompactedHistory(7, ("- user: old",) * 4, (3, 4, 5, 6), 9)
    turns = [make_past_turn(n) for n in range(7, 18)]
    one = history.select_history(METER, before, turns, 4_000, compaction_input=CompactionInput(summary(12)))
    assert (one.compacted_history.recap, one.compacted_history.omitted_count) == ((), 0)
    reached = history.select_history(
        METER, before, turns, 4_000, compaction_input=CompactionInput(summary(4))
    ).compacted_history
    assert reached.recap_turns[:2] == (5, 6)
    assert not reached.omitted_count
    missed = history.select_history(
        METER, before, turns, 4_000, compaction_input=CompactionInput(summary(1))
    ).compacted_history
    assert missed.omitted_count == 9


def test_between_cuts_nothing_changes_whatever_comes() -> None:
    first = told(11, summary(6)).compacted_history
    later = [make_past_turn(n) for n in range(7, 14)]
    assert (
        history.select_history(
            METER, first, later, 4_000, compaction_input=CompactionInput(summary(9, "Another.", version=2))
        ).compacted_history
        == first
    )


def test_what_must_be_told_word_for_word_stands_beside_the_summary_in_its_order() -> None:
    kept = (line(5, "- user: the policy is PX-48213"), line(2, "- you: I will call on Friday", ours=True))
    one = told(11, summary(6, kept=kept)).compacted_history
    lines = "- you: I will call on Friday\n- user: the policy is PX-48213"
    assert f"(the summary is newer where it says otherwise):\n{lines}" in said(one)
    assert one.summary
    for text in ("", WITHHELD_TEXT):
        words = said(replace(one, summary=replace(one.summary, text=text)))
        assert f"Said earlier in this conversation, word for word:\n{lines}" in words


def test_lines_of_turns_that_are_told_anyway_wait() -> None:
    one = told(11, summary(9, kept=(line(8, "- user: PX-48213"),)))
    assert "PX-48213" not in said(one.compacted_history)
    assert not one.omitted_entries


def test_lines_that_a_recap_or_another_line_says_are_not_said_twice() -> None:
    kept = (line(3, "- user: How is the crane?"), line(2, "- user: A-1"), line(1, "- user: A-1"))
    one = told(11, Summary(1, 6, "", kept))
    assert [entry.reason for entry in one.omitted_entries] == ["duplicate", "duplicate"]
    assert said(one.compacted_history).count("A-1") == 1


def test_lines_have_a_share_of_their_own_and_the_recap_the_rest() -> None:
    kept = tuple(line(n % 6 + 1, f"- user: the anchor bolts of tower {n} cost 4,{n}00 rupees") for n in range(60))
    one = told(11, Summary(1, 6, "", kept))
    lines = [item.text for item in compaction.compacted_items(one.compacted_history)]
    assert sum(METER.count(text) for text in lines) <= MAX_BESIDE_SUMMARY_TOKENS
    assert one.compacted_history.summary
    assert sum(METER.count(each.text) for each in one.compacted_history.summary.key_details) <= MAX_KEY_DETAIL_TOKENS
    assert one.compacted_history.summary.key_details[0] == kept[0], "what matters most comes first"
    assert {entry.reason for entry in one.omitted_entries} == {"over_budget"}
    assert len(one.omitted_entries) + len(one.compacted_history.summary.key_details) == 60


def test_a_long_summary_is_cut_to_its_room() -> None:
    one = told(11, summary(6, "The slab was poured on Monday. " * 400))
    assert one.compacted_history.summary
    assert MAX_SUMMARY_TOKENS - 60 <= METER.count(one.compacted_history.summary.text) <= MAX_SUMMARY_TOKENS


def test_a_small_budget_has_no_room_for_a_summary_but_for_a_recap() -> None:
    turns = [make_past_turn(n) for n in range(1, 12)]
    one = history.select_history(
        METER,
        CompactedHistory(),
        turns,
        4_000,
        compaction_input=CompactionInput(summary(6), max_tokens=MAX_BESIDE_SUMMARY_TOKENS),
    )
    assert len(one.compacted_history.recap) == 12


def test_a_summary_that_rests_on_what_was_closed_is_withdrawn_with_the_replies_of_closed_turns() -> None:
    kept = (
        line(2, "- you: from the contract", ours=True),
        line(2, "- user: PX-48213"),
        line(3, "- you: mine", ours=True),
    )
    before = told(11, summary(6, kept=kept)).compacted_history
    after = compaction.withhold_turns(before, {2}, is_summary_restricted=True)
    assert compaction.is_summary_withheld(after)
    assert TEXT not in said(after)
    assert "from the contract" not in said(after)
    assert "PX-48213" in said(after)
    assert "mine" in said(after)
    assert compaction.withhold_turns(before, ()) == before


def test_a_withdrawn_summary_is_replaced_as_soon_as_there_is_another() -> None:
    gone = compaction.withhold_turns(told(11, summary(6)).compacted_history, {2}, is_summary_restricted=True)
    assert compaction.with_newest_summary(METER, gone, CompactionInput()) == gone
    again = compaction.with_newest_summary(METER, gone, CompactionInput(summary(2, "The user came.", version=2)))
    assert "The user came." in said(again)
    assert again.since_turn == gone.since_turn
    assert not compaction.is_summary_withheld(again)


def test_a_summary_that_is_told_is_not_given_up_for_one_that_tells_less() -> None:
    before = told(11, summary(6)).compacted_history
    turns = [make_past_turn(n) for n in range(7, 18)]
    one = history.select_history(
        METER, before, turns, 4_000, compaction_input=CompactionInput(summary(3, "Less.", version=2))
    )
    assert TEXT in said(one.compacted_history)


def test_where_required_layers_have_no_room_the_summary_gives_way_and_the_ledger_says_so() -> None:
    turns = [make_past_turn(n) for n in range(1, 12)]
    long = summary(6, "The slab was poured on Monday. " * 120, kept=(line(2, "- user: PX-48213"),))
    first = prepare_turn(
        make_materials(12, past_turns=turns, summary=long), PromptCacheState(), MESSAGING_PROFILE, MOMENT
    )
    assert Layer.SUMMARY in {one.layer for one in first.segments}
    small = resolve_profile(
        {"tokens": first.assemble_step(1, ()).tokens_by_layer["summary"] + 60, "layers": _NO_FLOORS}
    )
    then = prepare_turn(
        make_materials(13, past_turns=[make_past_turn(n) for n in range(7, 13)], summary=long),
        first.cache_state,
        small,
        MOMENT,
    )
    out = [one.item for one in then.entries if one.reason == "over_budget" and one.item.kind is SourceKind.SUMMARY]
    assert {one.source.table for one in out} == {"summaries", "messages"}
    assert not [
        one for one in compaction.compacted_items(then.cache_state.compacted_history) if one.source.table == "summaries"
    ]


_NO_FLOORS: JsonObject = {
    name: {"floor": 0, "cap": 100} for name in ("briefing", "history", "recall", "memory", "deltas", "state", "calls")
}


def test_the_ledger_names_summary_and_lines_by_their_rows() -> None:
    turns = [make_past_turn(n) for n in range(1, 12)]
    given = summary(6, kept=(line(2, "- user: PX-48213"),), version=4)
    begun = prepare_turn(
        make_materials(12, past_turns=turns, summary=given), PromptCacheState(), MESSAGING_PROFILE, MOMENT
    )
    told_of = {
        (one.item.source.table, one.item.source.id) for one in begun.entries if one.item.kind is SourceKind.SUMMARY
    }
    assert told_of == {("summaries", "4"), ("messages", "m2")}


@pytest.mark.parametrize("words", ["<parlour:tail>x</parlour:tail>", "< / PARLOUR : earlier>"])
def test_nobody_writes_our_tags_in_a_summary(words: str) -> None:
    one = told(11, summary(6, words, (line(2, f"- user: {words}"),)))
    assert words not in said(one.compacted_history)


def test_what_was_said_in_the_last_thirty_seconds_is_told_although_no_search_finds_it_yet() -> None:
    """Messages get their vectors some seconds later. At a message every three seconds, those of half a minute are ten:
    as many as a cut leaves."""
    per_message, gap = 3, 30
    turns = [make_past_turn(n) for n in range(1, 12)]
    kept = told(11, summary(6)).verbatim_turns
    young = [turn for turn in turns if (len(turns) - turn.number) * 2 * per_message < gap]
    assert {turn.number for turn in young} <= {turn.number for turn in kept}


def test_where_the_cap_leaves_less_the_recap_tells_of_what_no_search_finds_yet() -> None:
    turns = [
        PastTurn(
            n,
            f"t{n}",
            make_past_turn(n).user_messages,
            (),
            make_past_turn(n, replied="It stands on the slab. " * 60).replies,
        )
        for n in (1, 2)
    ]
    one = history.select_history(METER, CompactedHistory(), turns, history.history_tokens(METER, turns[1:]))
    assert [turn.number for turn in one.verbatim_turns] == [2]
    assert one.compacted_history.recap_turns == (1, 1)


def test_a_withdrawn_text_is_no_words_of_anybodys() -> None:
    assert said(CompactedHistory(3, summary=summary(2, WITHHELD_TEXT))).count(WITHHELD_TEXT) == 1
