"""When a Pulse is looked at again, which is worth most, and what a day's budget lets through."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.pulse.due.rules import (
    GIVEN_UP,
    HALF_LIFE,
    UNKNOWN_COST,
    Budget,
    Candidate,
    back_off,
    choose,
    decayed,
    look_at,
    next_day,
    room_again,
    value,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PLENTY = Budget(Decimal(5), Decimal(), Decimal())


def candidate(number: int, *, reads: float = 0, minutes: float = 1, cost: str | None = "0.01") -> Candidate:
    since = NOW - minutes * MINUTE
    return Candidate(UUID(int=number), NOW, since, reads, NOW, None if cost is None else Decimal(cost))


def numbers(candidates: object) -> list[int]:
    assert isinstance(candidates, list | tuple)
    return [one.id.int for one in candidates]


def test_what_is_read_more_is_staler_or_costs_less_is_worth_more() -> None:
    plain = value(candidate(1, reads=1), NOW)
    assert value(candidate(1, reads=2), NOW) > plain
    assert value(candidate(1, reads=1, minutes=2), NOW) == pytest.approx(2 * plain)
    assert value(candidate(1, reads=1, cost="0.005"), NOW) == pytest.approx(2 * plain)
    assert value(candidate(1, reads=1, cost=None), NOW) == pytest.approx(plain * 0.01 / float(UNKNOWN_COST))


def test_one_that_nobody_reads_has_its_turn_with_time() -> None:
    assert value(candidate(1, minutes=600), NOW) > value(candidate(2, reads=99, minutes=5), NOW)


def test_a_look_of_a_week_ago_counts_half_and_one_never_counts_nothing() -> None:
    assert decayed(8, NOW - HALF_LIFE, NOW) == pytest.approx(4)
    assert decayed(8, NOW + MINUTE, NOW) == 8
    assert decayed(8, None, NOW) == 0


def test_the_most_valuable_come_first_and_the_rest_is_left_to_the_next_sweep() -> None:
    chosen = choose([candidate(number, reads=number) for number in range(5)], PLENTY, 2, NOW)
    assert (numbers(chosen.send), numbers(chosen.left), numbers(chosen.wait)) == ([4, 3], [2, 1, 0], [])


def test_what_does_not_fit_into_the_budget_waits_and_cheaper_ones_behind_it_do_not() -> None:
    budget = Budget(Decimal("0.05"), Decimal("0.02"), Decimal("0.01"))
    offered = [candidate(1, reads=900, cost="0.03"), candidate(2, reads=5, cost="0.015"), candidate(3, cost="0.01")]
    chosen = choose(offered, budget, 9, NOW)
    assert (numbers(chosen.send), numbers(chosen.wait)) == ([2], [1, 3])
    assert choose(offered, Budget(Decimal(), Decimal(), Decimal()), 9, NOW).send == []


def test_what_costs_nothing_fits_into_a_budget_of_nothing_unless_calls_are_switched_off() -> None:
    free = [candidate(1, cost="0")]
    nothing = Budget(Decimal(), Decimal(1), Decimal())
    assert numbers(choose(free, nothing, 9, NOW).send) == [1]
    off = Budget(Decimal(5), Decimal(), Decimal(), stopped=True)
    assert numbers(choose(free, off, 9, NOW).wait) == [1]
    assert (room_again(off, NOW), room_again(nothing, NOW)) == (NOW + 60 * MINUTE, next_day(NOW))


def test_what_others_may_leave_of_a_budget_is_looked_at_soon() -> None:
    under_way = Budget(Decimal(1), Decimal(), Decimal(1))
    assert room_again(under_way, NOW) == NOW + 5 * MINUTE
    assert room_again(under_way, next_day(NOW) - MINUTE) == next_day(NOW)


def test_a_budget_that_is_overdrawn_has_no_room() -> None:
    assert Budget(Decimal(1), Decimal(2), Decimal()).room == 0


def test_a_day_is_utcs() -> None:
    in_india = datetime(2026, 3, 3, 4, 0, tzinfo=timezone(timedelta(hours=5.5)))
    assert next_day(in_india) == datetime(2026, 3, 3, tzinfo=UTC)
    assert next_day(datetime(2026, 3, 3, tzinfo=UTC)) == datetime(2026, 3, 4, tzinfo=UTC)


def test_a_fresh_pulse_is_looked_at_when_it_is_old_and_a_stale_one_after_its_window() -> None:
    window, age = timedelta(seconds=30), timedelta(hours=24)
    assert look_at(None, window, NOW, age) == NOW + age
    assert look_at(NOW - MINUTE, window, NOW, age) == NOW - MINUTE + window


def test_tries_come_later_each_time_and_daily_once_people_were_told() -> None:
    assert [back_off(failures) / MINUTE for failures in (1, 2, 3, 7)] == [1, 2, 4, 64]
    assert back_off(GIVEN_UP) == back_off(GIVEN_UP + 50) == timedelta(days=1)


def test_an_outage_is_over_some_time_and_nobodys_fault() -> None:
    assert [back_off(failures, "provider_unavailable") / MINUTE for failures in (1, 3, 7, 8, 99)] == [1, 4, 60, 60, 60]
