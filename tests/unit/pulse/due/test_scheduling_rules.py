"""When a Pulse is looked at again, which is worth most, and what a day's budget lets through."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest

from parlour.pulse.due.scheduling_rules import (
    DEFAULT_COST_USD,
    MAX_FAILURES,
    READ_HALF_LIFE,
    DuePulse,
    PulseBudget,
    back_off,
    decayed_reads,
    next_attempt_with_budget,
    next_check_at,
    priority,
    select_pulses,
    start_of_next_day,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
PLENTY = PulseBudget(Decimal(5), Decimal(), Decimal())


def candidate(number: int, *, reads: float = 0, minutes: float = 1, cost: str | None = "0.01") -> DuePulse:
    since = NOW - minutes * MINUTE
    return DuePulse(UUID(int=number), NOW, since, reads, NOW, None if cost is None else Decimal(cost))


def numbers(candidates: object) -> list[int]:
    assert isinstance(candidates, list | tuple)
    return [one.id.int for one in candidates]


def test_what_is_read_more_is_staler_or_costs_less_is_worth_more() -> None:
    plain = priority(candidate(1, reads=1), NOW)
    assert priority(candidate(1, reads=2), NOW) > plain
    assert priority(candidate(1, reads=1, minutes=2), NOW) == pytest.approx(2 * plain)
    assert priority(candidate(1, reads=1, cost="0.005"), NOW) == pytest.approx(2 * plain)
    assert priority(candidate(1, reads=1, cost=None), NOW) == pytest.approx(plain * 0.01 / float(DEFAULT_COST_USD))


def test_one_that_nobody_reads_has_its_turn_with_time() -> None:
    assert priority(candidate(1, minutes=600), NOW) > priority(candidate(2, reads=99, minutes=5), NOW)


def test_a_look_of_a_week_ago_counts_half_and_one_never_counts_nothing() -> None:
    assert decayed_reads(8, NOW - READ_HALF_LIFE, NOW) == pytest.approx(4)
    assert decayed_reads(8, NOW + MINUTE, NOW) == 8
    assert decayed_reads(8, None, NOW) == 0


def test_the_most_valuable_come_first_and_the_rest_is_left_to_the_next_sweep() -> None:
    chosen = select_pulses([candidate(number, reads=number) for number in range(5)], PLENTY, 2, NOW)
    assert (numbers(chosen.send), numbers(chosen.remaining), numbers(chosen.wait_for_budget)) == ([4, 3], [2, 1, 0], [])


def test_what_does_not_fit_into_the_budget_waits_and_cheaper_ones_behind_it_do_not() -> None:
    budget = PulseBudget(Decimal("0.05"), Decimal("0.02"), Decimal("0.01"))
    offered = [candidate(1, reads=900, cost="0.03"), candidate(2, reads=5, cost="0.015"), candidate(3, cost="0.01")]
    chosen = select_pulses(offered, budget, 9, NOW)
    assert (numbers(chosen.send), numbers(chosen.wait_for_budget)) == ([2], [1, 3])
    assert select_pulses(offered, PulseBudget(Decimal(), Decimal(), Decimal()), 9, NOW).send == []


def test_what_costs_nothing_fits_into_a_budget_of_nothing_unless_calls_are_switched_off() -> None:
    free = [candidate(1, cost="0")]
    nothing = PulseBudget(Decimal(), Decimal(1), Decimal())
    assert numbers(select_pulses(free, nothing, 9, NOW).send) == [1]
    off = PulseBudget(Decimal(5), Decimal(), Decimal(), is_stopped=True)
    assert numbers(select_pulses(free, off, 9, NOW).wait_for_budget) == [1]
    assert (next_attempt_with_budget(off, NOW), next_attempt_with_budget(nothing, NOW)) == (
        NOW + 60 * MINUTE,
        start_of_next_day(NOW),
    )


def test_what_others_may_leave_of_a_budget_is_looked_at_soon() -> None:
    under_way = PulseBudget(Decimal(1), Decimal(), Decimal(1))
    assert next_attempt_with_budget(under_way, NOW) == NOW + 5 * MINUTE
    assert next_attempt_with_budget(under_way, start_of_next_day(NOW) - MINUTE) == start_of_next_day(NOW)


def test_a_budget_that_is_overdrawn_has_no_room() -> None:
    assert PulseBudget(Decimal(1), Decimal(2), Decimal()).remaining_usd == 0


def test_a_day_is_utcs() -> None:
    in_india = datetime(2026, 3, 3, 4, 0, tzinfo=timezone(timedelta(hours=5.5)))
    assert start_of_next_day(in_india) == datetime(2026, 3, 3, tzinfo=UTC)
    assert start_of_next_day(datetime(2026, 3, 3, tzinfo=UTC)) == datetime(2026, 3, 4, tzinfo=UTC)


def test_a_fresh_pulse_is_looked_at_when_it_is_old_and_a_stale_one_after_its_window() -> None:
    window, age = timedelta(seconds=30), timedelta(hours=24)
    assert next_check_at(None, window, NOW, age) == NOW + age
    assert next_check_at(NOW - MINUTE, window, NOW, age) == NOW - MINUTE + window


def test_tries_come_later_each_time_and_daily_once_people_were_told() -> None:
    assert [back_off(failures) / MINUTE for failures in (1, 2, 3, 7)] == [1, 2, 4, 64]
    assert back_off(MAX_FAILURES) == back_off(MAX_FAILURES + 50) == timedelta(days=1)


def test_an_outage_is_over_some_time_and_nobodys_fault() -> None:
    assert [back_off(failures, "provider_unavailable") / MINUTE for failures in (1, 3, 7, 8, 99)] == [1, 4, 60, 60, 60]
