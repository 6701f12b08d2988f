"""What model calls did cost: by day, agent, purpose and model, with the tokens and how many came from the cache."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

from parlour.infra.errors import InvalidRequest, SpendRefused
from parlour.infra.jsonable import JsonObject
from parlour.infra.postgres import Transaction
from parlour.models import store
from parlour.models.roles import require
from parlour.models.store import SpentDay, Usages
from parlour.principal import Principal

MOST_DAYS = 92

_COUNTS = ("calls", "failed", "unpriced", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class Costs:
    """Some days up to today, newest first, each with what was used and what was counted against the cap."""

    days: Sequence[SpentDay]
    usage: Sequence[Usages]

    def to_json(self) -> JsonObject:
        """The days, each with its sums and their shares, and the same over all of them; money is text."""
        return {
            "days": [self._day(day) for day in self.days],
            "total": {
                "spent_usd": _money(sum((day.spent for day in self.days), Decimal(0))),
                "unsettled_usd": _money(sum((day.unsettled for day in self.days), Decimal(0))),
                "degraded": sum(day.degraded for day in self.days),
                **_shares(self.usage),
            },
        }

    def _day(self, day: SpentDay) -> JsonObject:
        used = [one for one in self.usage if one.day == day.day]
        return {
            "day": day.day.isoformat(), "spent_usd": _money(day.spent), "unsettled_usd": _money(day.unsettled),
            "degraded": day.degraded, **_shares(used),
        }  # fmt: skip


def costs(principal: Principal, tx: Transaction, days: int, now: datetime) -> Costs:
    """The last `days` days (UTC), today included; a day without a call is there too. Needs the role viewer.

    InvalidRequest for fewer than one or more than 92.
    """
    require(principal, "viewer")
    if not 1 <= days <= MOST_DAYS:
        raise InvalidRequest(f"days: use a number from 1 to {MOST_DAYS}")
    today = now.astimezone(UTC).date()
    since = today - timedelta(days=days - 1)
    spent = store.spent_by_day(tx, since, today, SpendRefused.code, now)
    return Costs(spent, store.usage(tx, datetime.combine(since, time(), UTC)))


def _shares(used: Sequence[Usages]) -> JsonObject:
    return {
        **_sums(used),
        "by_binding": _by(used, lambda one: one.binding),
        "by_purpose": _by(used, lambda one: one.purpose),
        "by_model": _by(used, lambda one: f"{one.provider} {one.model}"),
    }


def _by(used: Sequence[Usages], name: Callable[[Usages], str]) -> JsonObject:
    """The sums by name, dearest first."""
    groups = {one: [each for each in used if name(each) == one] for one in sorted(set(map(name, used)))}
    dearest = sorted(groups, key=lambda one: _cost(groups[one]), reverse=True)
    return {one: _sums(groups[one]) for one in dearest}


def _sums(used: Sequence[Usages]) -> JsonObject:
    """Calls, tokens and cost. cache_hits: the share of what was read that came from the prompt cache, in percent."""
    sums = {name: sum(int(getattr(one, name)) for one in used) for name in _COUNTS}
    read = sums["input_tokens"] + sums["cache_read_tokens"] + sums["cache_write_tokens"]
    hits = round(100 * sums["cache_read_tokens"] / read) if read else 0
    return {**sums, "cache_hits": hits, "cost_usd": _money(_cost(used))}


def _cost(used: Sequence[Usages]) -> Decimal:
    return sum((one.cost_usd for one in used), Decimal(0))


def _money(usd: Decimal) -> str:
    return f"{usd.normalize():f}" if usd else "0"
