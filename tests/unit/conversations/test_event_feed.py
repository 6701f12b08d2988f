"""How often streamed text is committed."""

from datetime import timedelta

import pytest

from parlour.conversations.event_feed import flush_interval


@pytest.mark.parametrize(("seconds", "commits"), [(1, 5), (10, 10), (30, 20)])
def test_commits_come_quickly_at_first_and_then_every_two_seconds(seconds: int, commits: int) -> None:
    at, count = timedelta(), 0
    while at < timedelta(seconds=seconds):
        at += flush_interval(at)
        count += 1
    assert count <= commits
    assert flush_interval(timedelta()) == timedelta(milliseconds=100)
