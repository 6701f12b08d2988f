"""What model calls did cost: by day, agent, purpose and model, with the tokens and how many came from the cache."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from parlour.infra.errors import InvalidRequest, SpendRefused
from parlour.infra.postgres import Transaction
from parlour.models import store
from parlour.models.roles import require_role
from parlour.models.store import DailySpend, ModelUsage
from parlour.principal import Principal

MAX_DAYS = 92

_COUNT_FIELDS = (
    "calls",
    "failed_calls",
    "unpriced_calls",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSums:
    """Calls, tokens and cost of some model calls.

    unpriced_calls     calls whose price is not known.
    cache_hit_percent  the share of input tokens that came from the prompt cache.
    """

    calls: int
    failed_calls: int
    unpriced_calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    cache_hit_percent: int
    cost_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodCosts(UsageSums):
    """What a period cost, with the shares of its sums: the most expensive first.

    spent_usd       what was counted against the cap.
    unsettled_usd   of that, what calls that never ended might have cost.
    degraded_turns  turns that were answered without the model because of the cap.
    """

    spent_usd: Decimal
    unsettled_usd: Decimal
    degraded_turns: int
    by_binding: Mapping[str, UsageSums]
    by_purpose: Mapping[str, UsageSums]
    by_model: Mapping[str, UsageSums]


@dataclass(frozen=True, slots=True, kw_only=True)
class DayCosts(PeriodCosts):
    """What one day (UTC) cost."""

    day: date


@dataclass(frozen=True, slots=True)
class CostReport:
    """Some days up to today, newest first, and the sums over all of them."""

    days: Sequence[DayCosts]
    total: PeriodCosts


def read_cost_report(principal: Principal, tx: Transaction, days: int, now: datetime) -> CostReport:
    """Return the costs of the last `days` days (UTC), today included; a day without a call is there, too.

    Needs the role viewer. InvalidRequest for fewer than one day or more than 92.
    """
    require_role(principal, "viewer")
    if not 1 <= days <= MAX_DAYS:
        raise InvalidRequest(f"days: use a number from 1 to {MAX_DAYS}")
    today = now.astimezone(UTC).date()
    since = today - timedelta(days=days - 1)
    spent = store.list_daily_spend(tx, since, today, SpendRefused.code, now)
    usage = store.list_usage(tx, datetime.combine(since, time(), UTC))
    shown = [DayCosts(day=day.day, **_period([day], [one for one in usage if one.day == day.day])) for day in spent]
    return CostReport(shown, PeriodCosts(**_period(spent, usage)))


def _period(days: Sequence[DailySpend], usage: Sequence[ModelUsage]) -> dict[str, Any]:
    """Return the fields of `PeriodCosts`."""
    return {
        **asdict(_sums(usage)),
        "spent_usd": _total(day.spent_usd for day in days),
        "unsettled_usd": _total(day.unsettled_usd for day in days),
        "degraded_turns": sum(day.degraded_turns for day in days),
        "by_binding": _sums_by(usage, lambda one: one.binding),
        "by_purpose": _sums_by(usage, lambda one: one.purpose),
        "by_model": _sums_by(usage, lambda one: f"{one.provider} {one.model}"),
    }


def _sums_by(usage: Sequence[ModelUsage], group_name: Callable[[ModelUsage], str]) -> dict[str, UsageSums]:
    """Return the sums by name, the most expensive first."""
    groups = {name: [one for one in usage if group_name(one) == name] for name in sorted({*map(group_name, usage)})}
    sums = {name: _sums(calls) for name, calls in groups.items()}
    return dict(sorted(sums.items(), key=lambda named: named[1].cost_usd, reverse=True))


def _sums(usage: Sequence[ModelUsage]) -> UsageSums:
    counts = {name: sum(int(getattr(one, name)) for one in usage) for name in _COUNT_FIELDS}
    read = counts["input_tokens"] + counts["cache_read_tokens"] + counts["cache_write_tokens"]
    hits = round(100 * counts["cache_read_tokens"] / read) if read else 0
    return UsageSums(**counts, cache_hit_percent=hits, cost_usd=_total(one.cost_usd for one in usage))


def _total(amounts: Iterable[Decimal]) -> Decimal:
    """Return the sum without trailing zeros."""
    total = sum(amounts, Decimal(0))
    return total.normalize() if total else Decimal(0)
