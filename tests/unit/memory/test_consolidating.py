"""When a silent conversation is gone through once more, how much at once, and which facts are not told again."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from parlour.memory.consolidating import due
from parlour.memory.consolidating.consolidator import MOST_TURNS, held_against, share
from parlour.memory.consolidating.store import ForgottenFact, Silent
from parlour.memory.extracting.checked import Checked
from parlour.memory.facts.fact import Candidate

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
ONE, OTHER = UUID(int=1), UUID(int=2)


def candidate(key: str, *messages: UUID, ends: bool = False) -> Candidate:
    return Candidate(key, "Pune", 0.9, "consolidated", NOW, messages, ends=ends)


@pytest.mark.parametrize(
    ("turns", "ready_at"), [(due.TURNS, None), (due.TURNS + 1, NOW + timedelta(hours=24)), (0, None)]
)
def test_a_conversation_of_more_than_twenty_turns_is_ready_a_day_after_its_last_word(
    turns: int, ready_at: datetime | None
) -> None:
    assert due.ready_at(Silent(NOW, 4, turns)) == ready_at


def test_one_that_is_gone_or_that_others_read_is_never_ready() -> None:
    assert due.ready_at(None) is None


@pytest.mark.parametrize(("turns", "next_"), [(0, 0), (21, 21), (60, 60), (61, 31), (120, 60), (130, 44)])
def test_long_conversations_are_gone_through_in_stretches_of_about_the_same_length(turns: int, next_: int) -> None:
    assert share(turns) == next_
    assert share(turns) <= MOST_TURNS


def test_a_fact_that_was_forgotten_is_not_made_anew_by_what_it_was_drawn_from() -> None:
    found = Checked((candidate("city", ONE), candidate("city", ONE, OTHER), candidate("name", ONE)), (), ())
    held = held_against(found, [ForgottenFact("city", [ONE])])
    assert [(one.key, one.messages) for one in held.candidates] == [("city", (ONE, OTHER)), ("name", (ONE,))]
    assert [(one.key, one.reason) for one in held.refusals] == [("city", "forgotten")]


def test_what_takes_something_back_is_never_held_against_what_was_forgotten() -> None:
    held = held_against(Checked((candidate("city", ONE, ends=True),), (), ()), [ForgottenFact("city", [ONE])])
    assert len(held.candidates) == 1
