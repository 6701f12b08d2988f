"""After a failed attempt the next one waits, longer each time, and not for ever."""

from datetime import timedelta

import pytest

from parlour.jobs.backoff import backoff


@pytest.mark.parametrize(("failures", "minutes"), [(0, 10), (1, 10), (2, 20), (3, 40), (6, 320), (7, 360), (50, 360)])
def test_backoff_after_failures_doubles_up_to_the_longest_wait(failures: int, minutes: int) -> None:
    assert backoff(failures, timedelta(minutes=10)) == timedelta(minutes=minutes)


def test_backoff_with_a_limit_of_its_own_stays_below_it() -> None:
    assert backoff(9, timedelta(minutes=1), timedelta(hours=1)) == timedelta(hours=1)
