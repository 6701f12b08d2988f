"""When a Pulse is looked at again, which of several is worth most, and which of them fit into a day's budget. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

WRITER_TIMEOUT = timedelta(minutes=15)
"""How long a Pulse that was sent to its writer may take before it is sent again: longer than any writer lives."""

READ_HALF_LIFE = timedelta(days=7)
"""After this time a look at a Pulse counts half."""

MAX_FAILURES = 8
"""Tries in a row that gave nothing, after which people are told and the next one is a day away."""

OUTAGE_ERRORS = frozenset({"provider_unavailable", "access_refused", "misconfigured"})
"""Problems that are no record's own: nobody is given up for them, and who mends them mends all."""

DEFAULT_COST_USD = Decimal("0.01")
"""US dollars that a writing is taken to cost before there was one: some 8,000 tokens read by a cheap model."""

_MIN_BACKOFF, _MAX_BACKOFF = timedelta(minutes=1), timedelta(hours=6)
_MAX_OUTAGE_BACKOFF = timedelta(hours=1)
_SPEND_STOPPED_DELAY, _IN_FLIGHT_DELAY = timedelta(hours=1), timedelta(minutes=5)
_MIN_COST_USD = 0.0001


@dataclass(frozen=True, slots=True)
class DuePulse:
    """A record whose Pulses are due.

    stale_since    the first change that its Pulses do not reflect; None when they are only old.
    decayed_reads  how often they were read, decayed up to `reads_counted_at`.
    last_cost_usd  the cost of the last writing; None before the first.
    """

    id: UUID
    due_at: datetime
    stale_since: datetime | None
    decayed_reads: float
    reads_counted_at: datetime | None
    last_cost_usd: Decimal | None

    @property
    def expected_usd(self) -> Decimal:
        """What writing it will cost, US dollars."""
        return DEFAULT_COST_USD if self.last_cost_usd is None else self.last_cost_usd


@dataclass(frozen=True, slots=True)
class PulseBudget:
    """What Pulses may cost a tenant today and what is already spent, in US dollars.

    expected_usd  the cost of writings that are in flight.
    is_stopped    whether model calls are switched off.
    """

    cap_usd: Decimal
    spent_usd: Decimal
    expected_usd: Decimal
    is_stopped: bool = False

    @property
    def remaining_usd(self) -> Decimal:
        """What is left; never below zero."""
        return max(self.cap_usd - self.spent_usd - self.expected_usd, Decimal())


@dataclass(frozen=True, slots=True)
class SweepSelection:
    """What becomes of the candidates. send: in this order; wait: for budget; left: for the next sweep."""

    send: Sequence[DuePulse]
    wait_for_budget: Sequence[DuePulse]
    remaining: Sequence[DuePulse]


def select_pulses(candidates: Sequence[DuePulse], budget: PulseBudget, limit: int, now: datetime) -> SweepSelection:
    """Select the most valuable Pulses that fit the budget, at most `limit`.

    One that does not fit makes room for cheaper ones after it. A free one always fits, unless the tenant's model calls
    are switched off.
    """
    ordered = sorted(candidates, key=lambda one: (-priority(one, now), one.due_at, one.id))
    if budget.is_stopped:
        return SweepSelection((), ordered, ())
    room, send, wait = budget.remaining_usd, list[DuePulse](), list[DuePulse]()
    for place, one in enumerate(ordered):
        if len(send) == limit:
            return SweepSelection(send, wait, ordered[place:])
        fits = one.expected_usd <= room or one.expected_usd == 0
        (send if fits else wait).append(one)
        room -= one.expected_usd if fits else 0
    return SweepSelection(send, wait, ())


def priority(pulse: DuePulse, now: datetime) -> float:
    """Return reads times seconds of staleness per dollar.

    One that nobody reads counts a little, too: its priority grows with its age, so it gets its turn.
    """
    stale = max((now - (pulse.stale_since or pulse.due_at)).total_seconds(), 0.0)
    return (
        (1 + decayed_reads(pulse.decayed_reads, pulse.reads_counted_at, now))
        * stale
        / max(float(pulse.expected_usd), _MIN_COST_USD)
    )


def decayed_reads(reads: float, read_at: datetime | None, now: datetime) -> float:
    """Return what reads that were counted up to `read_at` count by now."""
    if read_at is None:
        return 0.0
    return float(reads * 0.5 ** (max((now - read_at) / READ_HALF_LIFE, 0.0)))


def next_check_at(
    unreflected_since: datetime | None, coalesce_window: timedelta, checked_at: datetime, max_age: timedelta
) -> datetime:
    """Return when to check a Pulse again that was written or confirmed at `checked_at`.

    That is the end of the coalesce window of the first change it does not reflect, otherwise when it is too old.
    """
    return checked_at + max_age if unreflected_since is None else unreflected_since + coalesce_window


def back_off(failures: int, problem: str = "") -> timedelta:
    """How long to wait after so many tries in a row that gave nothing: 1 minute, 2, 4 ... 6 hours; then a day. Where
    nothing is wrong with the record itself, an hour at most."""
    doublings = min(max(failures - 1, 0), MAX_FAILURES)
    if problem in OUTAGE_ERRORS:
        return min(_MIN_BACKOFF * (1 << doublings), _MAX_OUTAGE_BACKOFF)
    return timedelta(days=1) if failures >= MAX_FAILURES else min(_MIN_BACKOFF * (1 << doublings), _MAX_BACKOFF)


def next_attempt_with_budget(budget: PulseBudget, now: datetime) -> datetime:
    """When there is room in the budget again: with the next day (UTC); who switched model calls off may switch them on
    sooner, and what is being written may come to less than is expected of it."""
    if budget.is_stopped:
        return now + _SPEND_STOPPED_DELAY
    return min(now + _IN_FLIGHT_DELAY, start_of_next_day(now)) if budget.expected_usd > 0 else start_of_next_day(now)


def start_of_next_day(now: datetime) -> datetime:
    """When the next day begins, by UTC."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)
