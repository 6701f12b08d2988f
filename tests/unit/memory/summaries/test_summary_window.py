"""A summary is wanted before a cut needs it, and takes in a bounded stretch that leaves the newest messages out."""

from uuid import UUID

import pytest

from parlour.memory.summaries.summary_window import (
    MAX_EXCLUDED_MESSAGES,
    MAX_WINDOW_TOKENS,
    WindowTurn,
    is_summary_due,
    next_window,
)
from parlour.prompts.assembly.compaction import CompactedHistory, Summary
from parlour.prompts.assembly.past_turn import WITHHELD_TEXT
from parlour.text.token_counter import TokenCounter, count_tokens
from tests.unit.memory.summaries.turn_builders import make_turn
from tests.unit.prompts.prompt_builders import make_past_turn

METER = TokenCounter()
CAP = 4_000


def wanted(turns: int, lead: CompactedHistory | None = None, until: int = 0, cap: int = CAP, first: int = 1) -> bool:
    summary = Summary(1, until, "So far.") if until else None
    return is_summary_due(
        METER, lead or CompactedHistory(), [make_past_turn(n) for n in range(first, turns + 1)], summary, cap
    )


def numbers(turns: list[WindowTurn]) -> list[int]:
    return [one.number for one in turns]


@pytest.mark.parametrize(("turns", "is_it"), [(1, False), (8, False), (9, True), (10, True)])
def test_it_is_wanted_past_sixteen_messages(turns: int, *, is_it: bool) -> None:
    assert wanted(turns) is is_it


def test_it_is_not_wanted_again_for_a_few_messages() -> None:
    assert not wanted(11, until=6), "the next cut leaves as many"
    assert wanted(12, until=6)


def test_it_is_wanted_once_its_history_takes_most_of_its_room() -> None:
    assert wanted(3, cap=50)
    assert not wanted(3, cap=4_000)
    assert not wanted(3, until=2, cap=50)


def test_it_is_wanted_when_a_cut_took_what_none_tells_of() -> None:
    assert wanted(8, lead=CompactedHistory(since_turn=7), until=5, first=7)
    assert not wanted(8, lead=CompactedHistory(since_turn=7), until=6, first=7)


def test_it_is_wanted_when_the_one_that_stood_there_is_told_no_more() -> None:
    assert wanted(8, lead=CompactedHistory(since_turn=7, summary=Summary(1, 6, WITHHELD_TEXT)), until=6, first=7)


def test_the_newest_messages_are_left_out() -> None:
    taken = next_window([make_turn(n) for n in range(1, 10)], CAP, count_tokens)
    assert numbers(taken) == [1, 2, 3, 4, 5, 6]
    assert MAX_EXCLUDED_MESSAGES == 6


def test_of_long_messages_fewer_are_left_out_but_always_the_newest_turn() -> None:
    long = "The slab was poured on Monday and inspected. " * 60
    assert numbers(next_window([make_turn(n, long) for n in range(1, 10)], CAP, count_tokens)) == [*range(1, 8)]
    assert numbers(next_window([make_turn(n, long) for n in range(1, 4)], 800, count_tokens)) == [1, 2]
    assert not next_window([make_turn(1, long)], 800, count_tokens)


def test_no_more_is_taken_in_than_fits_one_question() -> None:
    long = "The slab was poured on Monday and inspected. " * 60
    taken = next_window([make_turn(n, long, long) for n in range(1, 60)], CAP, count_tokens)
    assert 4 <= len(taken) <= MAX_WINDOW_TOKENS // 600
    huge = "The slab was poured on Monday and inspected. " * 3_000
    assert len(next_window([make_turn(n, huge, huge) for n in range(1, 60)], CAP, count_tokens)) == 5


def test_when_there_are_more_turns_none_is_left_out() -> None:
    assert numbers(next_window([make_turn(n) for n in range(1, 4)], CAP, count_tokens, has_later_turns=True)) == [
        1,
        2,
        3,
    ]


def test_turns_in_which_nothing_can_be_read_count_all_the_same() -> None:
    silent = [WindowTurn(UUID(int=n), n, (), 2) for n in range(1, 12)]
    assert numbers(next_window(silent, CAP, count_tokens)) == [*range(1, 9)]
