"""One order from many lists: who speaks, what stands beside, what has been said already."""

from uuid import UUID

import pytest

from parlour.infra.json_values import JsonObject
from parlour.search.fusion import PositionedResult, fuse
from parlour.search.query_expansion import expand_query
from parlour.search.results import RowKind

TALK, CONTRACT = UUID(int=1000), UUID(int=2000)


def turn(place: int, speaker: str, text: str, score: float) -> PositionedResult:
    lead = f"{speaker}: "
    metadata: JsonObject = {"sender": speaker, "prefix_length": len(lead)}
    return PositionedResult(
        UUID(int=place),
        None,
        None,
        "chat_message",
        "Talk",
        lead + text,
        metadata,
        score,
        session_id=TALK,
        position=place,
    )


def piece(number: int, text: str, score: float, document: UUID | None = CONTRACT) -> PositionedResult:
    return PositionedResult(
        UUID(int=number), document, None, "document_chunk", "Contract", text, {}, score, position=number
    )


def order(rows: list[PositionedResult], query: str = "what", most: int = 10) -> list[int]:
    return [row.row_id.int for row in fuse(rows, query, most)]


def test_the_better_score_comes_first_and_no_more_come_than_asked_for() -> None:
    rows = [piece(1, "one", 0.1, None), piece(2, "two", 0.3, None), piece(3, "three", 0.2, None)]
    assert order(rows) == [2, 3, 1]
    assert order(rows, most=2) == [2, 3]
    assert order([]) == []


def test_equal_scores_keep_one_order() -> None:
    rows = [piece(number, f"text {number}", 0.2, None) for number in (3, 1, 2)]
    assert order(rows) == order(rows[::-1]) == [1, 2, 3]


@pytest.mark.parametrize(("query", "first"), [("What did Nadia say?", 1), ("what did nadia's cat do", 1), ("Who?", 9)])
def test_whom_the_question_names_is_heard_first(query: str, first: int) -> None:
    rows = [turn(1, "Nadia Berg", "I have a cat.", 0.20), turn(9, "Tomas", "I have a dog.", 0.22)]
    assert order(rows, query)[0] == first


def test_a_name_inside_another_word_names_nobody() -> None:
    rows = [turn(1, "Ann", "I have a cat.", 0.20), turn(9, "Tomas", "I have a dog.", 0.22)]
    assert order(rows, "the annual report")[0] == 9


def test_a_turn_gains_from_what_is_said_beside_it() -> None:
    rows = [turn(1, "A", "Any pets?", 0.4), turn(2, "B", "Two cats.", 0.2), turn(7, "B", "Far away.", 0.25)]
    assert order(rows) == [1, 2, 7]
    further = [turn(1, "A", "Any pets?", 0.4), turn(3, "B", "Two cats.", 0.22), turn(7, "B", "Far away.", 0.25)]
    assert order(further) == [1, 3, 7]
    assert order([turn(1, "A", "Any pets?", 0.4), turn(4, "B", "Two.", 0.22), turn(7, "B", "Far.", 0.25)]) == [1, 7, 4]


def test_pieces_of_a_document_are_no_neighbours_of_each_other() -> None:
    assert order([piece(1, "a", 0.4), piece(2, "b", 0.2), piece(7, "c", 0.25, UUID(int=1))]) == [1, 7, 2]


def test_every_further_piece_of_one_document_counts_less() -> None:
    other = UUID(int=2001)
    rows = [piece(1, "a", 0.30), piece(2, "b", 0.29), piece(3, "c", 0.28), piece(4, "d", 0.25, other)]
    found = fuse(rows, "what", 10)
    assert [row.row_id.int for row in found] == [1, 2, 4, 3]
    assert [row.score for row in found] == pytest.approx([0.30, 0.29 * 0.9, 0.25, 0.28 * 0.81])


def of_record(number: int, kind: RowKind, text: str, score: float, record: int = 1) -> PositionedResult:
    return PositionedResult(UUID(int=number), None, UUID(int=record), kind, "Late permit", text, {}, score)


def test_a_record_comes_before_what_was_changed_of_it() -> None:
    rows = [
        of_record(1, "delta", "Late permit (Risk): created, by the operator", 0.30),
        of_record(2, "delta", "Late permit (Risk): linked: about the main contract, by a member", 0.25),
        of_record(3, "snapshot", "Risk R-05, Late permit: severity high, open.", 0.20),
        of_record(4, "snapshot", "Risk R-08, Crane not free: severity medium, open.", 0.18, record=2),
        piece(5, "Notice of delay is given within a week.", 0.1),
    ]
    found = fuse(rows, "which risks are there", 10)
    assert [row.row_id.int for row in found] == [3, 4, 1, 2, 5]
    assert [row.score for row in found] == pytest.approx([0.30, 0.18, 0.15, 0.125, 0.1])


def test_a_change_whose_record_was_not_found_stays_where_it_is() -> None:
    rows = [
        of_record(1, "delta", "Late permit (Risk): state: closed (was open), by a member", 0.3),
        of_record(2, "snapshot", "Risk R-08, Crane not free: severity medium, open.", 0.2, record=2),
    ]
    assert [row.score for row in fuse(rows, "what", 10)] == [0.3, 0.2]


def test_what_repeats_a_better_row_word_for_word_is_left_out() -> None:
    text = "The retention of five per cent is released at handover."
    assert order([piece(1, text, 0.2, None), piece(2, text.upper(), 0.3, None), piece(3, "Else.", 0.1, None)]) == [2, 3]


def test_two_short_answers_that_are_the_same_are_two() -> None:
    assert order([turn(1, "A", "Yes please.", 0.2), turn(5, "B", "Yes, please!", 0.3)]) == [5, 1]


def test_a_question_comes_with_the_turn_before_it() -> None:
    assert expand_query(" And the second? ", ["Which cranes are there?", "How high is the first? "]) == (
        "And the second?\nHow high is the first?"
    )
    assert expand_query("Alone ", []) == expand_query("Alone", ["  "]) == "Alone"
    assert len(expand_query("short", ["x" * 10_000])) < 1_000
