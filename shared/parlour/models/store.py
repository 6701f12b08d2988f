"""The room's only way to the database: every named query of `queries.sql` as a function of one open transaction."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from parlour.infra.postgres import Transaction
from parlour.infra.queries import Queries

SQL = Queries.for_module(__file__)


@dataclass(frozen=True, slots=True)
class FailingLoop:
    """An agent loop of the pack whose last call failed. function: `module.name`; outcome: unavailable or rejected."""

    binding: str
    function: str
    outcome: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Reservation:
    """The worst case of one model call, in US dollars.

    purpose      what the call is for, as in its row of llm_calls.
    default_cap  US dollars a day of the deployment; a tenant's own cap takes precedence.
    anonymous_share  for a visitor whom no channel has verified: the part of the cap that all of them share; else None.
    address      the hash of the network address that such a visitor wrote from; "" when it is not known.
    """

    id: UUID
    amount: Decimal
    purpose: str
    default_cap: Decimal
    expires_at: datetime
    anonymous_share: Decimal | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class ReservationResult:
    """What a reservation found, in US dollars; `reserved` leaves the reservation itself out."""

    is_stopped: bool
    cap_usd: Decimal
    spent_usd: Decimal
    reserved_usd: Decimal
    has_share: bool
    is_reserved: bool


@dataclass(frozen=True, slots=True)
class SettledDay:
    """A day after something was spent on it; `warned` is the highest percentage that people were told of."""

    tenant_id: UUID
    day: date
    spent_usd: Decimal
    cap_usd: Decimal
    warned_percent: int


@dataclass(frozen=True, slots=True)
class SpendToday:
    """One day's spend of a tenant, in US dollars.

    reserved_usd    the worst case of the calls that are running.
    cap_usd         the cap that applies.
    own_cap_usd     the tenant's own, None where the deployment's applies.
    stopped_at      since when model calls are switched off, None while they are on.
    stopped_by      who switched them off.
    warned_percent  the highest percentage of the cap that people were warned of today.
    """

    spent_usd: Decimal
    reserved_usd: Decimal
    cap_usd: Decimal
    own_cap_usd: Decimal | None
    stopped_at: datetime | None
    stopped_by: str | None
    warned_percent: int

    @property
    def has_own_cap(self) -> bool:
        """Whether the cap is the tenant's own."""
        return self.own_cap_usd is not None

    @property
    def is_stopped(self) -> bool:
        """Whether model calls are switched off."""
        return self.stopped_at is not None


def reserve(
    tx: Transaction, reservation: Reservation, day: date, now: datetime, address_part: Decimal
) -> ReservationResult | None:
    """Reserve with two statements: under READ COMMITTED only a second one sees what was committed while waiting.

    address_part  the part of the anonymous share that one address may take.
    """
    tx.run(SQL["lock_day"], day=day)
    values = asdict(reservation)
    return tx.first(SQL["reserve"], ReservationResult, **values, day=day, now=now, address_part=address_part)


def settle(
    tx: Transaction, ids: Sequence[UUID], spent: Decimal, default_cap: Decimal, expired_before: datetime
) -> SettledDay | None:
    return tx.first(
        SQL["settle"], SettledDay, ids=list(ids), spent=spent, default_cap=default_cap, forgotten_before=expired_before
    )


def mark_warned(tx: Transaction, day: date, percent: int) -> bool:
    tx.run(SQL["lock_day"], day=day)  # a day whose first call was refused has no row yet
    return tx.run(SQL["mark_warned"], day=day, percent=percent) > 0


def find_today(tx: Transaction, day: date, default_cap: Decimal, now: datetime) -> SpendToday | None:
    return tx.first(SQL["find_today"], SpendToday, day=day, default_cap=default_cap, now=now)


def stop_model_calls(tx: Transaction, by: str, now: datetime) -> bool:
    return tx.run(SQL["stop_model_calls"], by=by, now=now) > 0


def resume_model_calls(tx: Transaction) -> bool:
    return tx.run(SQL["resume_model_calls"]) > 0


def find_own_cap(tx: Transaction) -> Decimal | None:
    cap: Decimal | None = tx.value(SQL["find_own_cap"])
    return cap


def set_daily_cap(tx: Transaction, usd: Decimal | None, now: datetime) -> bool:
    return tx.run(SQL["set_daily_cap"], usd=usd, now=now) > 0


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """Calls of one day that were alike, and their tokens; cost in US dollars, of those whose price is known."""

    day: date
    binding: str
    purpose: str
    provider: str
    model: str
    calls: int
    failed_calls: int
    unpriced_calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cost_usd: Decimal


@dataclass(frozen=True, slots=True)
class DailySpend:
    """What was counted against the cap on one day.

    unsettled_usd   the most that calls may have cost whose worker died before it could settle them.
    degraded_turns  turns that got a canned reply because of the cap.
    """

    day: date
    spent_usd: Decimal
    unsettled_usd: Decimal
    degraded_turns: int


def list_usage(tx: Transaction, since: datetime) -> list[ModelUsage]:
    return tx.all(SQL["list_usage"], ModelUsage, since=since)


def list_daily_spend(tx: Transaction, since: date, until: date, problem: str, now: datetime) -> list[DailySpend]:
    return tx.all(SQL["list_daily_spend"], DailySpend, since=since, until=until, problem=problem, now=now)


def add_background_call(tx: Transaction, **fields: object) -> None:
    """Keep an answered call that no turn waited for."""
    tx.run(SQL["add_background_call"], **fields)


def list_failing_loops(tx: Transaction, clearance: int, since: datetime, limit: int) -> list[FailingLoop]:
    """Return the agent loops whose last call since a time failed, the latest first."""
    return tx.all(SQL["list_failing_loops"], FailingLoop, clearance=clearance, since=since, most=limit)
