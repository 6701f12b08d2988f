"""History grows at its end until it is cut once; a recap and what the talk is about stand for the rest."""

import pytest

from parlour.context import history
from parlour.context.history import Told
from parlour.context.lead import BESIDE_TOKENS, Lead
from parlour.context.past import PastTurn
from parlour.context.segment import Item, Lot, Source
from parlour.context.tokens import Meter
from tests.unit.context.making import message, past

METER = Meter()
CONTRACT = (
    "Agreement on the delivery of precast elements. The supplier delivers anchorage plates, parapets and bearings. "
    "Liquidated damages are 0.5 percent a week. Retention is released after the defects liability period of 24 months. "
) * 12


def told(turns: list[PastTurn], room: int = 4_000, lead: Lead | None = None) -> Told:
    return history.tell(METER, lead or Lead(), turns, room)


def numbers(one: Told) -> list[int]:
    return [turn.number for turn in one.turns]


def test_twenty_messages_stay_verbatim() -> None:
    one = told([past(n) for n in range(1, 11)])
    assert (numbers(one), one.lead, one.cut) == ([*range(1, 11)], Lead(), ())
    assert one.tokens == history.size(METER, one.turns)


def test_at_the_twenty_first_message_ten_stay() -> None:
    one = told([past(n) for n in range(1, 12)])
    assert numbers(one) == [7, 8, 9, 10, 11]
    assert [turn.number for turn in one.cut] == [1, 2, 3, 4, 5, 6]
    assert one.lead.since == 7
    assert len(one.lead.recap) == 12


def test_a_history_without_room_is_cut_earlier_and_leaves_room_to_grow() -> None:
    turns = [past(n, replied="It stands on the slab. " * 20) for n in range(1, 7)]
    size = history.size(METER, turns)
    one = told(turns, room=size - 1)
    assert one.cut
    assert one.tokens == history.size(METER, one.turns) <= 0.6 * size


def test_the_newest_turn_stays_as_long_as_it_fits_at_all() -> None:
    large = past(2, replied="It stands on the slab. " * 60)
    size = history.size(METER, [large])
    assert numbers(told([past(1), large], room=size)) == [2]
    assert numbers(told([past(1), large], room=size - 1)) == []


def test_a_turn_of_many_messages_is_not_cut_again_and_again() -> None:
    burst = PastTurn(1, "t", tuple(message(f"u{n}", f"and {n}") for n in range(25)), (), (message("a", "Noted."),))
    one = told([burst])
    assert (one.turns, one.lead, one.cut) == ((burst,), Lead(), ())


def test_a_recap_grows_by_what_is_cut_and_loses_its_oldest_lines_with_a_count() -> None:
    lines = tuple(f"- user: earlier question {n} about the anchor bolts of tower {n}" for n in range(40))
    lead = Lead(0, lines, tuple(range(40)))
    one = told([past(n) for n in range(1, 12)], lead=lead)
    assert one.lead.recap[-1] == "- you: It stands."
    assert one.lead.forgone > 0
    assert one.lead.forgone + len(one.lead.recap) == 40 + 12
    (summary, _) = history.segments(METER, one)
    assert f"(and {one.lead.forgone} messages before that)" in "".join(summary.blocks[0].pieces)
    assert summary.tokens <= BESIDE_TOKENS + 40


ABOUT_IT = (
    "Are the liquidated damages capped?",
    "The liquidated damages of 0.5 percent have no cap; retention neither.",
)
NOT_ABOUT_IT = ("When does the tower crane arrive?", "The tower crane arrives on Thursday; its permit is renewed.")


@pytest.mark.parametrize(("talk", "stays"), [(ABOUT_IT, True), (NOT_ABOUT_IT, False), (("ok", "good"), True)])
def test_a_pasted_text_stays_as_long_as_the_talk_is_about_it(talk: tuple[str, str], stays: bool) -> None:
    turns = [past(1, asked=CONTRACT, replied="I have read it."), *(past(n, *talk) for n in range(2, 12))]
    one = told(turns)
    assert (one.lead.pasted is not None) == stays
    later = told([past(n, *NOT_ABOUT_IT) for n in range(one.lead.since, one.lead.since + 11)], lead=one.lead)
    assert later.lead.pasted is None


def test_a_text_pasted_just_now_stays_when_it_alone_is_too_large_for_the_history() -> None:
    turns = [past(1), past(2, asked=CONTRACT, replied="I have read it.")]
    one = history.tell(METER, Lead(), turns, 500, [message("now", "What do the liquidated damages come to?")])
    assert numbers(one) == []
    assert one.lead.pasted == Item(
        Lot.PASTED, CONTRACT, Source("messages", "u2"), title="a text that the talk is about"
    )  # fmt: skip


def test_a_turn_whose_user_sent_nothing_that_can_be_read_begins_with_the_user_all_the_same() -> None:
    (first, *_) = history.segments(METER, told([past(1, asked="  ")]))[0].blocks
    assert (first.role, first.pieces) == ("user", ("(nothing that can be read)",))


def test_files_stand_above_the_words_they_came_with_and_a_refused_one_is_named() -> None:
    files = (
        Item(Lot.ATTACHMENTS, "Crane log", Source("files", "1"), title="log.txt"),
        Item(Lot.ATTACHMENTS, "", Source("files", "2"), title="film.mp4"),
    )
    (segment,) = history.segments(METER, told([past(1, attached=files)]))
    said = ["".join(block.pieces) for block in segment.blocks]
    assert said[0] == "<parlour:file>\nlog.txt\nCrane log\n</parlour:file>"
    assert said[1] == "[The user also sent 'film.mp4', too large to read here.]"
    assert said[2] == "How is the crane?"
