"""When a silent conversation is consolidated, and in which windows."""

from datetime import UTC, datetime, timedelta

import pytest

from parlour.memory.extraction import consolidation_job
from parlour.memory.extraction.consolidation_job import MAX_WINDOW_TURNS, next_window_size
from parlour.memory.extraction.store import SilentSession

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("turns", "ready_at"),
    [(consolidation_job.MIN_TURNS, None), (consolidation_job.MIN_TURNS + 1, NOW + timedelta(hours=24)), (0, None)],
)
def test_a_conversation_of_more_than_twenty_turns_is_ready_a_day_after_its_last_word(
    turns: int, ready_at: datetime | None
) -> None:
    assert consolidation_job.consolidation_due_at(SilentSession(NOW, 4, turns)) == ready_at


def test_a_deleted_or_shared_conversation_is_never_ready() -> None:
    assert consolidation_job.consolidation_due_at(None) is None


@pytest.mark.parametrize(("turns", "size"), [(0, 0), (21, 21), (60, 60), (61, 31), (120, 60), (130, 44)])
def test_windows_of_a_long_conversation_have_about_the_same_size(turns: int, size: int) -> None:
    assert next_window_size(turns) == size
    assert next_window_size(turns) <= MAX_WINDOW_TURNS
