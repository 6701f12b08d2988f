"""After a try that gave nothing the next one waits, longer each time, and not for ever."""

from datetime import timedelta

import pytest

from parlour.memory.summary.tries import next_try


@pytest.mark.parametrize(("failures", "minutes"), [(1, 10), (2, 20), (3, 40), (6, 320), (7, 360), (50, 360)])
def test_it_waits_longer_each_time(failures: int, minutes: int) -> None:
    assert next_try(failures) == timedelta(minutes=minutes)


def test_where_there_was_no_money_it_is_no_try() -> None:
    assert next_try(0) == timedelta(hours=1)
