"""When a Pulse is looked at again, which of several is worth most, and which of them fit into a day's budget. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

GRACE = timedelta(minutes=15)
"""How long a Pulse that was sent to its writer may take before it is sent again: longer than any writer lives."""

HALF_LIFE = timedelta(days=7)
"""After this time a look at a Pulse counts half."""

GIVEN_UP = 8
"""Tries in a row that gave nothing, after which people are told and the next one is a day away."""

OUTAGES = frozenset({"provider_unavailable", "access_refused", "misconfigured"})
"""Problems that are no record's own: nobody is given up for them, and who mends them mends all."""

UNKNOWN_COST = Decimal("0.01")
"""US dollars that a writing is taken to cost before there was one: some 8,000 tokens read by a cheap model."""

_SHORTEST_WAIT, _LONGEST_WAIT = timedelta(minutes=1), timedelta(hours=6)
_LONGEST_OUTAGE = timedelta(hours=1)
_STOPPED, _UNDER_WAY = timedelta(hours=1), timedelta(minutes=5)
_LEAST_COST = 0.0001


@dataclass(frozen=True, slots=True)
class Candidate:
    """A record whose Pulses are due.

    since     the first change that they do not tell of; None when they are merely old.
    reads     how often they were looked at, as of `read_at`.
    cost_usd  of the last writing; None before there was one.
    """

    id: UUID
    due_at: datetime
    since: datetime | None
    reads: float
    read_at: datetime | None
    cost_usd: Decimal | None

    @property
    def expected(self) -> Decimal:
        """What writing it will cost, US dollars."""
        return UNKNOWN_COST if self.cost_usd is None else self.cost_usd


@dataclass(frozen=True, slots=True)
class Budget:
    """What Pulses may cost a tenant today, and what of it is gone; US dollars.

    expected  of writings that were sent and have not ended.
    stopped   whether model calls are switched off.
    """

    cap: Decimal
    spent: Decimal
    expected: Decimal
    stopped: bool = False

    @property
    def room(self) -> Decimal:
        """What is left; never below zero."""
        return max(self.cap - self.spent - self.expected, Decimal())


@dataclass(frozen=True, slots=True)
class Choice:
    """What becomes of the candidates. send: in this order; wait: for budget; left: for the next sweep."""

    send: Sequence[Candidate]
    wait: Sequence[Candidate]
    left: Sequence[Candidate]


def choose(candidates: Sequence[Candidate], budget: Budget, most: int, now: datetime) -> Choice:
    """The most valuable first, as long as the budget has room for them, and `most` at once.

    One that does not fit makes room for cheaper ones behind it. What costs nothing always fits, but for a tenant whose
    model calls are switched off.
    """
    ordered = sorted(candidates, key=lambda one: (-value(one, now), one.due_at, one.id))
    if budget.stopped:
        return Choice((), ordered, ())
    room, send, wait = budget.room, list[Candidate](), list[Candidate]()
    for place, one in enumerate(ordered):
        if len(send) == most:
            return Choice(send, wait, ordered[place:])
        fits = one.expected <= room or one.expected == 0
        (send if fits else wait).append(one)
        room -= one.expected if fits else 0
    return Choice(send, wait, ())


def value(one: Candidate, now: datetime) -> float:
    """Reads times seconds of staleness for a dollar. One that nobody reads is worth a little, too: it grows with its
    age, and so has its turn."""
    stale = max((now - (one.since or one.due_at)).total_seconds(), 0.0)
    return (1 + decayed(one.reads, one.read_at, now)) * stale / max(float(one.expected), _LEAST_COST)


def decayed(reads: float, read_at: datetime | None, now: datetime) -> float:
    """What reads that were counted up to `read_at` count by now."""
    if read_at is None:
        return 0.0
    return float(reads * 0.5 ** (max((now - read_at) / HALF_LIFE, 0.0)))


def look_at(since: datetime | None, window: timedelta, written_at: datetime, age: timedelta) -> datetime:
    """When to look at a Pulse again that was written, or found to be as it should, at `written_at`: when the window
    after the first change that it does not tell of is over, or when it is old."""
    return written_at + age if since is None else since + window


def back_off(failures: int, problem: str = "") -> timedelta:
    """How long to wait after so many tries in a row that gave nothing: 1 minute, 2, 4 ... 6 hours; then a day. Where
    nothing is wrong with the record itself, an hour at most."""
    doublings = min(max(failures - 1, 0), GIVEN_UP)
    if problem in OUTAGES:
        return min(_SHORTEST_WAIT * (1 << doublings), _LONGEST_OUTAGE)
    return timedelta(days=1) if failures >= GIVEN_UP else min(_SHORTEST_WAIT * (1 << doublings), _LONGEST_WAIT)


def room_again(budget: Budget, now: datetime) -> datetime:
    """When there is room in the budget again: with the next day (UTC); who switched model calls off may switch them on
    sooner, and what is being written may come to less than is expected of it."""
    if budget.stopped:
        return now + _STOPPED
    return min(now + _UNDER_WAY, next_day(now)) if budget.expected > 0 else next_day(now)


def next_day(now: datetime) -> datetime:
    """When the next day begins, by UTC."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today + timedelta(days=1)
