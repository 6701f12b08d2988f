"""History grows at its end until it is cut once; a recap and what the talk is about stand for the rest."""

import pytest

from parlour.prompts.assembly import history
from parlour.prompts.assembly.compaction import MAX_BESIDE_SUMMARY_TOKENS, CompactedHistory
from parlour.prompts.assembly.history import HistorySelection
from parlour.prompts.assembly.past_turn import PastTurn
from parlour.prompts.assembly.segment import Item, Source, SourceKind
from parlour.text.token_counter import TokenCounter
from tests.unit.prompts.prompt_builders import make_message, make_past_turn

METER = TokenCounter()
CONTRACT = (
    "Agreement on the delivery of precast elements. The supplier delivers anchorage plates, parapets and bearings. "
    "Liquidated damages are 0.5 percent a week. Retention is released after the defects liability period of 24 months. "
) * 12


def told(turns: list[PastTurn], room: int = 4_000, lead: CompactedHistory | None = None) -> HistorySelection:
    return history.select_history(METER, lead or CompactedHistory(), turns, room)


def numbers(one: HistorySelection) -> list[int]:
    return [turn.number for turn in one.verbatim_turns]


def test_twenty_messages_stay_verbatim() -> None:
    one = told([make_past_turn(n) for n in range(1, 11)])
    assert (numbers(one), one.compacted_history, one.cut_turns) == ([*range(1, 11)], CompactedHistory(), ())
    assert one.tokens == history.history_tokens(METER, one.verbatim_turns)


def test_at_the_twenty_first_message_ten_stay() -> None:
    one = told([make_past_turn(n) for n in range(1, 12)])
    assert numbers(one) == [7, 8, 9, 10, 11]
    assert [turn.number for turn in one.cut_turns] == [1, 2, 3, 4, 5, 6]
    assert one.compacted_history.since_turn == 7
    assert len(one.compacted_history.recap) == 12


def test_a_history_without_room_is_cut_earlier_and_leaves_room_to_grow() -> None:
    turns = [make_past_turn(n, replied="It stands on the slab. " * 20) for n in range(1, 7)]
    size = history.history_tokens(METER, turns)
    one = told(turns, room=size - 1)
    assert one.cut_turns
    assert one.tokens == history.history_tokens(METER, one.verbatim_turns) <= 0.6 * size


def test_the_newest_turn_stays_as_long_as_it_fits_at_all() -> None:
    large = make_past_turn(2, replied="It stands on the slab. " * 60)
    size = history.history_tokens(METER, [large])
    assert numbers(told([make_past_turn(1), large], room=size)) == [2]
    assert numbers(told([make_past_turn(1), large], room=size - 1)) == []


def test_a_turn_of_many_messages_is_not_cut_again_and_again() -> None:
    burst = PastTurn(
        1, "t", tuple(make_message(f"u{n}", f"and {n}") for n in range(25)), (), (make_message("a", "Noted."),)
    )
    one = told([burst])
    assert (one.verbatim_turns, one.compacted_history, one.cut_turns) == ((burst,), CompactedHistory(), ())


def test_a_recap_grows_by_what_is_cut_and_loses_its_oldest_lines_with_a_count() -> None:
    lines = tuple(f"- user: earlier question {n} about the anchor bolts of tower {n}" for n in range(40))
    lead = CompactedHistory(0, lines, tuple(range(40)))
    one = told([make_past_turn(n) for n in range(1, 12)], lead=lead)
    assert one.compacted_history.recap[-1] == "- you: It stands."
    assert one.compacted_history.omitted_count > 0
    assert one.compacted_history.omitted_count + len(one.compacted_history.recap) == 40 + 12
    (summary, _) = history.history_segments(METER, one)
    assert f"(and {one.compacted_history.omitted_count} messages before that)" in "".join(summary.blocks[0].pieces)
    assert summary.tokens <= MAX_BESIDE_SUMMARY_TOKENS + 40


ABOUT_IT = (
    "Are the liquidated damages capped?",
    "The liquidated damages of 0.5 percent have no cap; retention neither.",
)
NOT_ABOUT_IT = ("When does the tower crane arrive?", "The tower crane arrives on Thursday; its permit is renewed.")


@pytest.mark.parametrize(("talk", "stays"), [(ABOUT_IT, True), (NOT_ABOUT_IT, False), (("ok", "good"), True)])
def test_a_pasted_text_stays_as_long_as_the_talk_is_about_it(talk: tuple[str, str], stays: bool) -> None:
    turns = [
        make_past_turn(1, asked=CONTRACT, replied="I have read it."),
        *(make_past_turn(n, *talk) for n in range(2, 12)),
    ]
    one = told(turns)
    assert (one.compacted_history.pasted_text is not None) == stays
    later = told(
        [
            make_past_turn(n, *NOT_ABOUT_IT)
            for n in range(one.compacted_history.since_turn, one.compacted_history.since_turn + 11)
        ],
        lead=one.compacted_history,
    )
    assert later.compacted_history.pasted_text is None


def test_a_text_pasted_just_now_stays_when_it_alone_is_too_large_for_the_history() -> None:
    turns = [make_past_turn(1), make_past_turn(2, asked=CONTRACT, replied="I have read it.")]
    one = history.select_history(
        METER, CompactedHistory(), turns, 500, [make_message("now", "What do the liquidated damages come to?")]
    )
    assert numbers(one) == []
    assert one.compacted_history.pasted_text == Item(
        SourceKind.PASTED_TEXT, CONTRACT, Source("messages", "u2"), title="a text that the talk is about"
    )


def test_a_turn_whose_user_sent_nothing_that_can_be_read_begins_with_the_user_all_the_same() -> None:
    (first, *_) = history.history_segments(METER, told([make_past_turn(1, asked="  ")]))[0].blocks
    assert (first.role, first.pieces) == ("user", ("(nothing that can be read)",))


def test_files_stand_above_the_words_they_came_with_and_a_refused_one_is_named() -> None:
    files = (
        Item(SourceKind.ATTACHMENTS, "Crane log", Source("files", "1"), title="log.txt"),
        Item(SourceKind.ATTACHMENTS, "", Source("files", "2"), title="film.mp4"),
    )
    (segment,) = history.history_segments(METER, told([make_past_turn(1, attachments=files)]))
    said = ["".join(block.pieces) for block in segment.blocks]
    assert said[0] == "<parlour:file>\nlog.txt\nCrane log\n</parlour:file>"
    assert said[1] == "[The user also sent 'film.mp4', too large to read here.]"
    assert said[2] == "How is the crane?"
