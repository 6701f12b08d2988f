"""What model calls did cost: by day, agent, purpose and model, with the tokens and how many came from the cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from parlour.infra.errors import InvalidRequest, SpendRefused
from parlour.infra.json_values import JsonObject
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


@dataclass(frozen=True, slots=True)
class CostReport:
    """Some days up to today, newest first, each with what was used and what was counted against the cap."""

    days: Sequence[DailySpend]
    usage: Sequence[ModelUsage]

    def to_json(self) -> JsonObject:
        """Return the days, each with its sums and their shares, and the sums over all of them; money is text."""
        return {
            "days": [self._day_json(day) for day in self.days],
            "total": {
                "spent_usd": _format_usd(sum((day.spent_usd for day in self.days), Decimal(0))),
                "unsettled_usd": _format_usd(sum((day.unsettled_usd for day in self.days), Decimal(0))),
                "degraded_turns": sum(day.degraded_turns for day in self.days),
                **_breakdown(self.usage),
            },
        }

    def _day_json(self, day: DailySpend) -> JsonObject:
        used = [one for one in self.usage if one.day == day.day]
        return {
            "day": day.day.isoformat(),
            "spent_usd": _format_usd(day.spent_usd),
            "unsettled_usd": _format_usd(day.unsettled_usd),
            "degraded_turns": day.degraded_turns,
            **_breakdown(used),
        }


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
    return CostReport(spent, store.list_usage(tx, datetime.combine(since, time(), UTC)))


def _breakdown(usage: Sequence[ModelUsage]) -> JsonObject:
    return {
        **_sums(usage),
        "by_binding": _sums_by(usage, lambda one: one.binding),
        "by_purpose": _sums_by(usage, lambda one: one.purpose),
        "by_model": _sums_by(usage, lambda one: f"{one.provider} {one.model}"),
    }


def _sums_by(usage: Sequence[ModelUsage], group_name: Callable[[ModelUsage], str]) -> JsonObject:
    """Return the sums by name, the most expensive first."""
    groups = {one: [each for each in usage if group_name(each) == one] for one in sorted(set(map(group_name, usage)))}
    dearest = sorted(groups, key=lambda one: _total_cost(groups[one]), reverse=True)
    return {one: _sums(groups[one]) for one in dearest}


def _sums(usage: Sequence[ModelUsage]) -> JsonObject:
    """Return calls, tokens and cost. cache_hit_percent: the share of input tokens that came from the prompt cache."""
    sums = {name: sum(int(getattr(one, name)) for one in usage) for name in _COUNT_FIELDS}
    read = sums["input_tokens"] + sums["cache_read_tokens"] + sums["cache_write_tokens"]
    hits = round(100 * sums["cache_read_tokens"] / read) if read else 0
    return {**sums, "cache_hit_percent": hits, "cost_usd": _format_usd(_total_cost(usage))}


def _total_cost(usage: Sequence[ModelUsage]) -> Decimal:
    return sum((one.cost_usd for one in usage), Decimal(0))


def _format_usd(usd: Decimal) -> str:
    return f"{usd.normalize():f}" if usd else "0"
